/** CPU time of this process in ms: unlike elapsed time, it can be limited whatever else the machine does. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

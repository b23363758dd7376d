/** ms of CPU that this process has taken: a limit on it holds whatever else runs on the machine. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Whether a host's name or address, also as a URL has it, is this host's own: nothing sent there is seen by others. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){1,3}|\[?::1\]?)$/i.test(host);

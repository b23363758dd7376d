/** Signals with a story of their own, by number (Linux). */
export const SIGKILL = 9;
export const SIGUSR1 = 10;
export const SIGSEGV = 11;
export const SIGUSR2 = 12;
export const SIGXCPU = 24;
export const SIGXFSZ = 25;

/** SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS. */
export const CRASHES: ReadonlySet<number> = new Set([4, 5, 6, 7, 8, 11, 31]);

/** `failed`: execd enforced h_vmem, h_rt or h_cpu; the job died by a signal. */
export const LIMIT_ENFORCED = 37;
export const AFTER_SIGNAL = 100;

/** What speaks against every other end where Grid Engine says 37. */
export const LIMIT_SAYS = 'Grid Engine says failed 37: it enforced a limit itself';

/** What would tell, where it is missing. */
export const ACCOUNTING_LINE = "Grid Engine's accounting line (qmemacct import)";
export const A_SAMPLER = 'a sampler on the node';

/** Stands for the owner and the name of a job that the reader must not know. */
export const HIDDEN = 'anonymous';

import type * as Koffi from 'koffi' with { 'resolution-mode': 'import' };

/** Loads koffi: about 6 ms. It ships a CommonJS build, but its types claim ESM only. */
export const loadKoffi = (): typeof Koffi => require('koffi') as typeof Koffi;

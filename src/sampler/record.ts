export * from '../record/record';

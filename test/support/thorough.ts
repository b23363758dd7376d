/** Whether what is tried by chance is tried as often as before a release: `npm run test:thorough`. */
const IS_THOROUGH = process.env.QMEMACCT_TEST_THOROUGH === '1';

/** How often that is. */
export const often = (usual: number, thorough: number): number => (IS_THOROUGH ? thorough : usual);

/** Whether property tests run as many random cases as before a release: `npm run test:thorough`. */
const IS_THOROUGH = process.env.QMEMACCT_TEST_THOROUGH === '1';

/** Number of random cases: `usual`, or `thorough` in a thorough run. */
export const often = (usual: number, thorough: number): number => (IS_THOROUGH ? thorough : usual);

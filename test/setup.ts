/**
 * @file Before each test file: where random tests start.
 *
 * `npm test` searches from one fixed seed, so that a commit that passed passes everywhere. `npm run test:full` searches
 * from a new seed each time, and fast-check prints it with what it finds; `LOCKSTEP_TEST_SEED` takes any seed again.
 */
import fc from "fast-check";

const FIXED = 20_251;
const { LOCKSTEP_FULL, LOCKSTEP_TEST_SEED } = process.env;

if (LOCKSTEP_TEST_SEED !== undefined) fc.configureGlobal({ seed: Number(LOCKSTEP_TEST_SEED) });
else if (LOCKSTEP_FULL === undefined) fc.configureGlobal({ seed: FIXED });

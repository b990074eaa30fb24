/**
 * @file All suites by name.
 */
import type { Suite } from "./suite.ts";
import { kernelsSuite } from "./suites/kernels.ts";

export const SUITES: readonly Suite[] = [kernelsSuite];

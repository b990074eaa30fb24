#!/usr/bin/env node
/**
 * @file The command line, module by module as it was compiled. Where it can be bundled, start.ts stands in for this.
 */
import { main } from "./program.ts";

await main();

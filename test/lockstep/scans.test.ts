import { testScans } from "./differential.ts";

testScans();

/**
 * @file Charts as SVG text, and curves in a line of text: pure functions, the same picture for the same numbers.
 */
export { type Bar, type BarChartOptions, barChart, type Share, type SharesChartOptions, sharesChart } from "./bars.ts";
export { columns, cutToLength } from "./columns.ts";
export { type LineChartOptions, lineChart, type Series } from "./lines.ts";
export { formatCount, formatSeconds, formatShare, formatValue, grouped } from "./numbers.ts";
export { sparkline } from "./sparkline.ts";
export { escapeXml } from "./svg.ts";
export { DARK_STYLE, FONT } from "./theme.ts";

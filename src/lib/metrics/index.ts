/**
 * Numbers for Prometheus: counters, gauges and histograms with labels, and the text in which they are read.
 * It knows nothing of what is counted; whoever counts makes a registry and says where its text is shown.
 */
export type { Counter, Gauge, Histogram, Labels, Sample } from "./families.ts";
export { type ProcessFacts, registerProcessMetrics } from "./process.ts";
export { createRegistry, DEFAULT_BUCKETS, type FamilyOptions, type Registry } from "./registry.ts";
export { METRICS_CONTENT_TYPE } from "./text.ts";

/** Measures the time, processor time of all threads and peak memory of work in this process. @module */
import process from "node:process";
import { PeakMemory } from "../../lib/io/threads/peak_memory.ts";

export interface Times {
  seconds: number;
  /** Unaffected by other programs. */
  cpuSeconds: number;
}

export interface Usage extends Times {
  /** Peak resident memory of the process so far. */
  peakMemoryBytes: number;
}

export async function timed<T>(work: () => Promise<T>): Promise<{ result: T; times: Times }> {
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  const result = await work();
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { result, times: { seconds, cpuSeconds: (user + system) / 1e6 } };
}

export async function measureUsage<T>(work: () => Promise<T>): Promise<{ result: T; usage: Usage }> {
  using memory = new PeakMemory();
  const { result, times } = await timed(work);
  return { result, usage: { ...times, peakMemoryBytes: memory.peakBytes } };
}

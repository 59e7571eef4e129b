/**
 * The time, processor time and memory that work takes in this process.
 *
 * Processor time includes the threads of workers and native libraries. It does not depend on other programs,
 * so it can be compared on a shared machine. Peak resident memory is that of the whole process, so measure
 * one piece of work per process.
 *
 * @module
 */
import process from "node:process";
import { PeakMemory } from "../../io/threads/peak_memory.ts";

export interface Times {
  seconds: number;
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

/**
 * The time, processor time and memory that some work takes in this process.
 *
 * Processor time counts the threads of workers and native libraries too, and does not depend on other programs, so it
 * compares where the machine is shared. The largest resident memory is that of the whole process: measure one piece
 * of work a process.
 *
 * @module
 */
import process from "node:process";
import { PeakMemory } from "../runtime/peak_memory.ts";

/** The usage of some work. */
export interface Usage {
  seconds: number;
  /** Processor time of all threads, user and system. */
  cpuSeconds: number;
  /** Largest resident memory of the process so far. */
  peakMemoryBytes: number;
}

/**
 * Measures work.
 *
 * @param work What is to be measured.
 * @returns What it gave and took.
 */
export async function measureUsage<T>(work: () => Promise<T>): Promise<{ result: T; usage: Usage }> {
  using memory = new PeakMemory();
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  const result = await work();
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    result,
    usage: { seconds, cpuSeconds: (user + system) / 1e6, peakMemoryBytes: memory.peakBytes },
  };
}

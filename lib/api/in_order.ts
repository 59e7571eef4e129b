/** Work on the items of a stream, several at a time, with results in the order of the items. @module */

/**
 * Works on items; results come as soon as those before them are there.
 *
 * @param work Must end by itself when the caller loses interest, whose promise is then awaited by nobody.
 * @param most How many items are taken in before their results are taken out: the bound of memory.
 * @throws What `items` or `work` throws.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
  most: number,
): AsyncGenerator<Result> {
  const iterator = items[Symbol.asyncIterator]();
  const running: Promise<Result>[] = [];
  let taking: Promise<IteratorResult<Item>> | undefined;
  let isDone = false;
  try {
    while (!isDone || running.length > 0) {
      if (!isDone && running.length < most) taking ??= iterator.next();
      const first = running[0];
      const item = taking?.then((next) => ({ next }));
      const result = first?.then((value) => ({ value }));
      const came = await Promise.race([result, item].filter((promise) => promise !== undefined));
      if ("value" in came) {
        running.shift();
        yield came.value;
        continue;
      }
      taking = undefined;
      if (came.next.done) isDone = true;
      else running.push(handled(work(came.next.value)));
    }
  } finally {
    const ended = iterator.return?.();
    // An item that is being waited for may never come.
    if (taking) ended?.catch(() => {});
    else await ended;
  }
}

/** A promise whose failure is no unhandled one where nobody awaits it. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

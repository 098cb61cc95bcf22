/** The saved queries that the service comes with (contract 1.1): no other file takes a name from them. */
const promised: ReadonlySet<string> = new Set(['logs.all', 'usage.api-counts']);

type Named = { readonly name: string };

/** Whether a saved query is one that the service comes with. */
export function isPromised({ name }: Named): boolean {
  return promised.has(name);
}

/**
 * The order in which files get names that more than one of them wants: the same in each process that reads the same files, in whatever
 * order they came. The shorter name goes first, for copies mostly have a longer one (`orders-copy`, `my.orders`), then the alphabet decides.
 */
export function byPrecedence(a: Named, b: Named): number {
  return (
    Number(isPromised(b)) - Number(isPromised(a)) ||
    a.name.length - b.name.length ||
    (a.name < b.name ? -1 : 1)
  );
}

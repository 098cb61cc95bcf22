/** Shown in place of content whose script could not be loaded. */
export function MissingScript({ of }: { readonly of: string }) {
  return (
    <p class="problem-line" role="alert">
      The {of} did not load. The gateway may have another version by now: reload the page.
    </p>
  );
}

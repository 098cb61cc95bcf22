import { useState } from 'preact/hooks';

type CopyButtonProps = { readonly text: () => string; readonly label: string };

/** Copies a text, and says so. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const [said, setSaid] = useState<string>();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setSaid('Copied');
    } catch {
      // Browsers offer the clipboard only over https: and on the local machine.
      setSaid('The browser does not allow it');
    }
    setTimeout(() => setSaid(undefined), 1500);
  };
  return (
    <button
      type="button"
      class="small"
      onClick={event => {
        event.stopPropagation();
        void copy();
      }}
    >
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

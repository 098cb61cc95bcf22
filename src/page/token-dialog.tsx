import { useEffect, useRef } from 'preact/hooks';

type TokenDialogProps = {
  readonly isOpen: boolean;
  /** The problem with the last token. */
  readonly problem?: string | undefined;
  readonly onToken: (token: string) => void;
  readonly onClose: () => void;
};

/** Asks for the access token. */
export function TokenDialog({ isOpen, problem, onToken, onClose }: TokenDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-labelledby="token-title" onCancel={onClose}>
      <form
        method="dialog"
        onSubmit={event => {
          event.preventDefault();
          const token = field.current?.value.trim() ?? '';
          if (token) onToken(token);
        }}
      >
        <h2 id="token-title">Access token</h2>
        {problem && (
          <p class="problem-line" role="alert">
            {problem}
          </p>
        )}
        <label class="label" for="token-field">
          Token
        </label>
        <input
          ref={field}
          id="token-field"
          type="password"
          autoComplete="off"
          required
          // No header can have other characters, such as the quotes of a text that a token was copied from.
          pattern="[ -~]+"
          title="Letters, digits and signs of ASCII"
        />
        <p class="hint">
          Kept in this tab alone, until it is closed. The gateway prints one at its start while none is
          issued; <code>npm run token -- issue --name me</code> issues one.
        </p>
        <div class="actions">
          <button type="submit" class="primary">
            Use it
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

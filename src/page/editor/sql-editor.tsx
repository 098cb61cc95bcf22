import {
  autocompletion,
  type CompletionContext,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { SQLDialect, sql } from '@codemirror/lang-sql';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, forceLinting, linter, lintKeymap } from '@codemirror/lint';
import { Annotation, Compartment, EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Subset } from '../api/catalogue.ts';
import type { Dialect, Verdict } from '../api/client.ts';
import { completionsAt } from './completions.ts';
import { editorTheme } from './editor-theme.ts';
import { rangeOf } from './error-range.ts';

type SqlEditorProps = {
  readonly value: string;
  readonly subsets: readonly Subset[];
  readonly dialect: Dialect | undefined;
  readonly onChange: (sql: string) => void;
  readonly onRun: () => void;
  /** Asks the gateway to check a text; undefined without a verdict, for example because it does not answer. */
  readonly check: (sql: string) => Promise<Verdict | undefined>;
};

/** Marks a text that was not typed here. */
const fromOutside = Annotation.define<boolean>();

/** Milliseconds without typing after which the text is checked. */
const checkDelayMs = 350;

/** An editor for BigQuery SQL. Keywords, functions and errors come from the gateway that runs the text. */
export function SqlEditor(props: SqlEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  // The editor outlives a rendering, so it calls the latest functions.
  const latest = useRef(props);
  latest.current = props;
  const language = useRef(new Compartment());

  useEffect(() => {
    if (!host.current) return;
    // In a shadow root CodeMirror adds its styles as style sheets, which the Content Security Policy allows; in the page it would
    // add inline ones.
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [extensionsOf(latest), language.current.of(languageOf(latest.current.dialect))],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    view.current?.dispatch({ effects: language.current.reconfigure(languageOf(props.dialect)) });
  }, [props.dialect]);

  // Right after rendering: later, text typed meanwhile would be lost.
  useLayoutEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === props.value) return;
    const changes = { from: 0, to: editor.state.doc.length, insert: props.value };
    editor.dispatch({ changes, annotations: fromOutside.of(true) });
    forceLinting(editor);
  }, [props.value]);

  return <div ref={host} class="editor" />;
}

function extensionsOf(latest: { readonly current: SqlEditorProps }) {
  const run = (view: EditorView) => {
    // The list would cover the answer.
    closeCompletion(view);
    latest.current.onRun();
    return true;
  };
  return [
    keymap.of([
      { key: 'Mod-Enter', run, preventDefault: true },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      ...historyKeymap,
      ...defaultKeymap,
      indentWithTab,
    ]),
    lineNumbers(),
    history(),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ override: [context => complete(context, latest.current)] }),
    linter(editor => lint(editor, latest.current), { delay: checkDelayMs }),
    syntaxHighlighting(highlighting),
    editorTheme,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({
      'aria-label': 'SQL over the subsets',
      'aria-description': 'Escape and then Tab leaves the editor',
    }),
    placeholder('select … from a subset'),
    EditorView.updateListener.of(update => {
      const isTyped = !update.transactions.some(transaction => transaction.annotation(fromOutside));
      if (update.docChanged && isTyped) latest.current.onChange(update.state.doc.toString());
    }),
  ];
}

function complete(context: CompletionContext, { subsets, dialect }: SqlEditorProps) {
  const word = context.matchBefore(/\w*/);
  const isAfterPoint = context.matchBefore(/\.\w*/) !== null;
  if (!dialect || (!context.explicit && !isAfterPoint && word?.from === word?.to)) return null;
  const text = context.state.doc.toString();
  const options = completionsAt(text.slice(0, context.pos), text, subsets, dialect);
  return {
    from: word?.from ?? context.pos,
    validFor: /^\w*$/,
    options: options.map(({ label, kind, detail }) => ({
      label,
      detail,
      type: { subset: 'class', column: 'property', function: 'function', keyword: 'keyword' }[kind],
      boost: { subset: 2, column: 3, function: 1, keyword: 0 }[kind],
      ...(kind === 'function' && { apply: `${label}(` }),
    })),
  };
}

async function lint(editor: EditorView, { check }: SqlEditorProps): Promise<Diagnostic[]> {
  const text = editor.state.doc.toString();
  if (text.trim() === '') return [];
  const verdict = await check(text);
  if (!verdict || !('problem' in verdict)) return [];
  const { message, position } = verdict.problem;
  return [{ ...rangeOf(text, position), severity: 'error', message }];
}

/** BigQuery's lexical rules, with the words of the gateway. */
function languageOf(dialect: Dialect | undefined) {
  return sql({
    dialect: SQLDialect.define({
      keywords: (dialect?.keywords ?? []).join(' ').toLowerCase(),
      builtin: (dialect?.functions ?? [])
        .map(({ name }) => name)
        .join(' ')
        .toLowerCase(),
      types: (dialect?.types ?? []).join(' ').toLowerCase(),
      identifierQuotes: '`',
      doubleQuotedStrings: true,
      backslashEscapes: true,
      hashComments: true,
      specialVar: '@',
    }),
  });
}

const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--syntax-keyword)', fontWeight: '600' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--syntax-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--syntax-number)' },
  { tag: [tags.standard(tags.name), tags.typeName], color: 'var(--syntax-function)' },
  { tag: tags.special(tags.name), color: 'var(--syntax-number)' },
  { tag: [tags.lineComment, tags.blockComment], color: 'var(--muted)', fontStyle: 'italic' },
]);

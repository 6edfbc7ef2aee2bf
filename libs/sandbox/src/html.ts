const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Headers of every page here: the browser runs no script even if one slipped in. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'cache-control': 'no-store',
}

/** Text that is safe in an element or a quoted attribute. */
export const escapeHtml = (text: string) =>
  text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)

/** A plain page: no script, readable by a screen reader. `body` must be escaped already. */
export const page = (title: string, body: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}
button{font:inherit;display:block;width:100%;padding:.6rem 1rem;margin:.5rem 0;text-align:left;cursor:pointer}
pre{background:#f2f2f2;padding:1rem;white-space:pre-wrap;word-break:break-all}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>${body}</main></body></html>`

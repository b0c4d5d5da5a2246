/** Loads `.sql`, `.md` and `.client.js` as their text, as the bundle does: imported before what imports such files. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

registerHooks({
  load(url, context, next) {
    if (!/\.(sql|md|client\.js)$/.test(url)) return next(url, context);
    const text = readFileSync(fileURLToPath(url), 'utf8');
    return {
      format: 'module',
      source: `export default ${JSON.stringify(text)};`,
      shortCircuit: true,
    };
  },
});

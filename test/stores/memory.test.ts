import { openMemoryStore } from '../../src/stores/memory.ts';
import { storeCases } from './store.cases.ts';

storeCases('memory', (given) => {
  const store = openMemoryStore(given);
  return { store, end: () => store.close() };
});

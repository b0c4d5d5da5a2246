import pg from 'pg';

/** Tells when PostgreSQL has answered a statement that `ends` says ends jobs: how many, by its values. */
export function answers(ends, recorded) {
  const query = pg.Client.prototype.query;
  pg.Client.prototype.query = function (...args) {
    const [config, values] = args;
    const count = ends(config?.text ?? config, config?.values ?? values);
    if (count === 0) return query.apply(this, args);
    const callback = args.at(-1);
    if (typeof callback === 'function') {
      args[args.length - 1] = (error, result) => {
        if (!error) recorded(count);
        callback(error, result);
      };
      return query.apply(this, args);
    }
    const result = query.apply(this, args);
    result.then(
      () => recorded(count),
      () => {},
    );
    return result;
  };
}

-- Texts that many rows have in common stand here once; a column that holds `#12` has the text of that ref, and `##…` is `#…` itself
-- (`texts.ts`). Rows of before hold their texts in place.
CREATE TABLE texts (
  ref INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE
) STRICT;
UPDATE attempts SET session_id = '#' || session_id WHERE substr(session_id, 1, 1) = '#';

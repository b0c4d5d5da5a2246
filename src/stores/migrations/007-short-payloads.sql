-- Short inputs and results stand with their task; longer ones, and those of before, stand in tables of their own.
ALTER TABLE tasks ADD COLUMN result TEXT;
ALTER TABLE tasks ADD COLUMN input TEXT;

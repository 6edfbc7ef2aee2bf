create table pods (
  id uuid primary key
);

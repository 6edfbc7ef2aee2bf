-- A person, whichever orgs they belong to. Both identities are proved: the email by the identity provider,
-- the chat user by their session, by their org's server, or by the link of the two accounts.
create table people (
  id uuid primary key,
  -- in lower case
  email text constraint people_email unique,
  chat_user_id text constraint people_chat_user_id unique,
  created_at timestamptz not null
);

-- What one org knows of a person, and their points there. Its id is what others are shown.
create table memberships (
  id uuid primary key,
  org_id integer not null,
  person uuid not null constraint memberships_person references people (id),
  name text not null,
  -- as the org's officers know it, in lower case; a proof of nothing
  email text,
  username text,
  student_id text,
  class_standing text,
  major text,
  profile_fields jsonb not null default '{}',
  -- the sum of the ledger, kept by ledger_moves()
  balance bigint not null default 0 constraint memberships_balance check (balance >= 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint memberships_once unique (org_id, person),
  constraint memberships_email unique (org_id, email),
  constraint memberships_username unique (org_id, username)
);
create index memberships_of_person on memberships (person);
create index memberships_by_email on memberships (email);
create index memberships_ranked on memberships (org_id, balance desc, id);
create index memberships_named on memberships (org_id, name, id);

create table products (
  id integer generated always as identity primary key,
  org_id integer not null,
  name text not null,
  description text not null,
  price integer not null constraint products_price check (price >= 1),
  stock integer not null constraint products_stock check (stock >= 0),
  image_url text,
  category text,
  -- removed while orders name it: nobody sees it any more
  retired boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index products_of_org on products (org_id, id) where not retired;

create table orders (
  id integer generated always as identity primary key,
  org_id integer not null,
  membership uuid not null constraint orders_membership references memberships (id),
  total_amount bigint not null constraint orders_total check (total_amount >= 1),
  status text not null constraint orders_status
    check (status in ('pending', 'processing', 'shipped', 'delivered', 'cancelled')),
  message text,
  -- removed by an officer: nobody sees it any more, but the ledger still needs it
  deleted boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index orders_of_org on orders (org_id, id) where not deleted;
create index orders_of_membership on orders (membership, id);

create table order_items (
  order_id integer not null constraint order_items_order references orders (id) on delete cascade,
  product_id integer not null constraint order_items_product references products (id),
  product_name text not null,
  quantity integer not null constraint order_items_quantity check (quantity >= 1),
  price_at_time integer not null,
  primary key (order_id, product_id)
);
create index order_items_of_product on order_items (product_id);

-- Every point that ever moved. Rows of purchases and refunds are never deleted.
create table ledger (
  id bigint generated always as identity primary key,
  org_id integer not null,
  membership uuid not null constraint ledger_membership references memberships (id),
  points bigint not null,
  kind text not null constraint ledger_kind
    check (kind in ('award', 'csv', 'purchase', 'refund', 'adjust')),
  event text not null,
  awarded_by text,
  -- what may be booked once: csv:<event>:<email>, purchase:<order>, refund:<order>
  source_key text,
  order_id integer constraint ledger_order references orders (id),
  created_at timestamptz not null,
  constraint ledger_once unique (org_id, source_key),
  constraint ledger_sign check (
    case when kind = 'purchase' then points < 0 when kind = 'adjust' then points <> 0 else points > 0 end
  )
);
create index ledger_of_membership on ledger (membership, id desc);
create index ledger_of_event on ledger (org_id, event);

-- The balance follows the ledger, whoever writes it: the whole statement counts, so that rows may move together.
create function ledger_moves() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    update memberships m set balance = m.balance + moved.points
    from (select membership, sum(points) as points from added group by membership) moved
    where m.id = moved.membership;
  elsif tg_op = 'DELETE' then
    update memberships m set balance = m.balance - moved.points
    from (select membership, sum(points) as points from removed group by membership) moved
    where m.id = moved.membership;
  else
    update memberships m set balance = m.balance + moved.points
    from (
      select membership, sum(points) as points from (
        select membership, points from added union all select membership, -points from removed
      ) both_sides group by membership
    ) moved
    where m.id = moved.membership and moved.points <> 0;
  end if;
  return null;
end $$;
create trigger ledger_added after insert on ledger
  referencing new table as added for each statement execute function ledger_moves();
create trigger ledger_removed after delete on ledger
  referencing old table as removed for each statement execute function ledger_moves();
create trigger ledger_changed after update on ledger
  referencing old table as removed new table as added for each statement execute function ledger_moves();

-- An attendance file, under the id of the job that reads it.
create table imports (
  id uuid primary key,
  org_id integer not null,
  event text not null,
  points integer not null,
  -- null once it has been read
  content text,
  asked_by text,
  state text not null constraint imports_state check (state in ('queued', 'done', 'failed')),
  result jsonb,
  created_at timestamptz not null
);
create index imports_age on imports (created_at);
create index imports_of_org on imports (org_id);

package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// oldest is the version of the schema that migrations begin with. Tables of that and of earlier ones are refused: they are
// of builds that were not released.
const oldest = 2

// newest is the version that this package reads and writes.
var newest = oldest + len(migrations)

// migrations lead from one version of the schema to the next, the first one from oldest. One that was released is never
// changed.
var migrations = [][]string{{
	`CREATE TABLE {runs} (
		no {int} PRIMARY KEY, tenant {text} NOT NULL, id {text} NOT NULL, born {int} NOT NULL, status {text} NOT NULL,
		token {int} NOT NULL, held {int} NOT NULL, lease_until {int} NOT NULL, nonce {int} NOT NULL, life {int} NOT NULL,
		attempts {int} NOT NULL, agent {text} NOT NULL, queue {text} NOT NULL, serial {text} NOT NULL, parent {text} NOT NULL,
		priority {int} NOT NULL, due_at {int}, next_seq {int} NOT NULL, steps {int} NOT NULL, bytes {int} NOT NULL,
		has {int} NOT NULL, stops {int} NOT NULL, created_at {int} NOT NULL, updated_at {int} NOT NULL, expires_at {int},
		data {blob} NOT NULL, UNIQUE (tenant, id)){run_options}`,
	`CREATE INDEX {name_runs_due} ON {runs} (tenant, priority DESC, due_at, born) WHERE due_at IS NOT NULL`,
	`CREATE INDEX {name_runs_due_queue} ON {runs} (tenant, queue, priority DESC, due_at, born) WHERE due_at IS NOT NULL`,
	`CREATE INDEX {name_runs_expires} ON {runs} (tenant, expires_at) WHERE expires_at IS NOT NULL`,
	// Of the runs of a key: those that others have to wait for, those that are held, and those that wait for another one.
	`CREATE INDEX {name_runs_first} ON {runs} (tenant, serial, born) WHERE serial <> '' AND ` + blocks,
	`CREATE INDEX {name_runs_held} ON {runs} (tenant, serial) WHERE serial <> '' AND held = 1`,
	`CREATE INDEX {name_runs_behind} ON {runs} (tenant, serial, born) WHERE serial <> '' AND status = 'ready' AND due_at IS NULL`,
	// Lists, in their order.
	`CREATE INDEX {name_runs_updated} ON {runs} (tenant, status, updated_at DESC, id)`,
	`CREATE INDEX {name_runs_agent} ON {runs} (tenant, agent, status, updated_at DESC, id)`,
	`CREATE INDEX {name_runs_serial} ON {runs} (tenant, serial, status, updated_at DESC, id) WHERE serial <> ''`,
	`CREATE INDEX {name_runs_parent} ON {runs} (tenant, parent, status, updated_at DESC, id) WHERE parent <> ''`,
	`CREATE INDEX {name_runs_own} ON {runs} (tenant, status) WHERE queue = '{own}'`,
	`CREATE INDEX {name_runs_stopping} ON {runs} (held, stops, no) WHERE held = 1 AND stops > 0`,
	`CREATE TABLE {steps} (place {int} PRIMARY KEY, data {blob} NOT NULL)`, // see placeOf
	`CREATE TABLE {vals} (run {int} NOT NULL, kind {int} NOT NULL, data {blob} NOT NULL, PRIMARY KEY (run, kind))`,
	// What lists look for beside the rows has where the run stands in a list, which triggers keep: see moved.
	`CREATE TABLE {asks} (run {int} NOT NULL, kind {text} NOT NULL, whom {text} NOT NULL, tenant {text} NOT NULL,
		status {text} NOT NULL, updated_at {int} NOT NULL, id {text} NOT NULL, PRIMARY KEY (run, kind, whom))`,
	`CREATE INDEX {name_asks_whom} ON {asks} (tenant, whom, status, updated_at DESC, id)`,
	`CREATE INDEX {name_asks_kind} ON {asks} (tenant, kind, status, updated_at DESC, id)`,
	`CREATE TABLE {tags} (run {int} NOT NULL, name {text} NOT NULL, value {text} NOT NULL, tenant {text} NOT NULL,
		status {text} NOT NULL, updated_at {int} NOT NULL, id {text} NOT NULL, PRIMARY KEY (run, name))`,
	`CREATE INDEX {name_tags_value} ON {tags} (tenant, name, value, status, updated_at DESC, id)`,
	`CREATE TABLE {locks} (n {int} PRIMARY KEY)`,
	`INSERT INTO {locks} (n) VALUES (0), (1), (2), (3), (4), (5), (6), (7),
		(8), (9), (10), (11), (12), (13), (14), (15)`,
	`CREATE TABLE {events} (tenant {text} NOT NULL, run {text} NOT NULL, token {int} NOT NULL, seq {int} NOT NULL,
		kind {text} NOT NULL, span {int} NOT NULL, at {int} NOT NULL, data {blob} NOT NULL,
		PRIMARY KEY (tenant, run, token, seq))`,
	`CREATE TABLE {logs} (tenant {text} NOT NULL, run {text} NOT NULL, token {int} NOT NULL, PRIMARY KEY (tenant, run))`,
}}

// blocks is the condition for a run that later ones of its key wait for: see storekit.Row.BlocksKey. It is written as in the
// index, so that databases know that they can use that.
const blocks = `(status IN ('ready', 'running', 'waiting') OR held = 1)`

// moved has the rows of a run in other tables say where it stands in a list.
const moved = `UPDATE {tags} SET status = NEW.status, updated_at = NEW.updated_at WHERE run = NEW.no;
	UPDATE {asks} SET status = NEW.status, updated_at = NEW.updated_at WHERE run = NEW.no;`

// movedTrigger is for databases whose triggers are statements, the others for those that have PL/pgSQL.
const (
	movedTrigger = `CREATE TRIGGER {name_runs_moved} AFTER UPDATE OF status, updated_at ON {runs}
	WHEN OLD.status <> NEW.status OR OLD.updated_at <> NEW.updated_at BEGIN ` + moved + ` END`
	movedFunction = `CREATE OR REPLACE FUNCTION {moved} () RETURNS TRIGGER LANGUAGE plpgsql AS $$
	BEGIN ` + moved + ` RETURN NULL; END $$`
	movedCaller = `CREATE TRIGGER {name_runs_moved} AFTER UPDATE ON {runs} FOR EACH ROW
	WHEN (OLD.status <> NEW.status OR OLD.updated_at <> NEW.updated_at) EXECUTE FUNCTION {moved} ()`
)

// keyLocks is the number of rows that {locks} has: see transaction.lockKey.
const keyLocks = 16

// mostSteps is the number of records that a journal can have, less one. Runs have numbers up to 1<<39.
const mostSteps = 1 << 24

// placeOf is the key of a record. One number, instead of two, spares a database that keeps rows in the order of such a
// key an index.
func placeOf(run, seq int64) int64 { return run*mostSteps + seq }

// perRun are the tables, other than {steps}, whose rows belong to a run.
var perRun = []string{"{vals}", "{asks}", "{tags}"}

// Migrate makes the tables, or brings the tables of an older version up to date. Processes that migrate at once wait for
// each other.
func (s *Store) Migrate(ctx context.Context) error {
	err := s.retry(ctx, func(ctx context.Context, _ int) error {
		if _, err := s.version(ctx); err == nil {
			return s.migrate(ctx)
		}
		if s.writer.schema != "" {
			if _, err := s.db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+s.writer.schema); err != nil {
				return again(s.dialect.Exists(err), err)
			}
		}
		_, err := s.db.ExecContext(ctx, s.sql(`CREATE TABLE IF NOT EXISTS {schema} (version {int} NOT NULL)`))
		if err != nil {
			return again(s.dialect.Exists(err), err)
		}
		return s.migrate(ctx)
	})
	if err != nil {
		return fmt.Errorf("sqlrun: migrate the %s database: %w", s.dialect.Name, err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if s.dialect.LockSchema != "" {
		if _, err := tx.ExecContext(ctx, s.sql(s.dialect.LockSchema)); err != nil {
			return err
		}
	}
	var version int
	err = tx.QueryRowContext(ctx, s.sql(`SELECT version FROM {schema}`)).Scan(&version)
	fresh := errors.Is(err, sql.ErrNoRows)
	if err != nil && !fresh {
		return err
	}
	var statements []string
	if fresh {
		statements = append(statements, s.dialect.CreateTokens...)
		statements = append(statements, `INSERT INTO {schema} (version) VALUES (0)`)
		version = oldest
	} else if err := s.checkKnown(version); err != nil {
		return err
	}
	for _, m := range migrations[version-oldest:] {
		statements = append(statements, m...)
	}
	switch {
	case version == newest:
	case s.dialect.oneWriter():
		statements = append(statements, movedTrigger)
	default:
		statements = append(statements, appendFunction, movedFunction, movedCaller)
	}
	statements = append(statements, fmt.Sprintf(`UPDATE {schema} SET version = %d`, newest))
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, s.sql(statement)); err != nil {
			return fmt.Errorf("%w (in %.60q)", err, statement)
		}
	}
	return tx.Commit()
}

func (s *Store) version(ctx context.Context) (version int, err error) {
	err = s.db.QueryRowContext(ctx, s.sql(`SELECT version FROM {schema}`)).Scan(&version)
	return version, err
}

// checkVersion refuses a schema that is not the one of this package.
func (s *Store) checkVersion(ctx context.Context) error {
	var version int
	var missing error
	err := s.retry(ctx, func(ctx context.Context, _ int) (err error) {
		version, missing = s.version(ctx)
		return again(missing != nil && s.dialect.Retryable(missing), missing)
	})
	switch {
	case err != nil && s.dialect.Retryable(missing), ctx.Err() != nil:
		return fmt.Errorf("sqlrun: read the version of the schema: %w", err)
	case missing != nil:
		return fmt.Errorf("sqlrun: the %s database has no tables (%w): call Migrate, or set AutoMigrate",
			s.dialect.Name, missing)
	}
	if err := s.checkKnown(version); err != nil {
		return err
	}
	if version < newest {
		return fmt.Errorf("sqlrun: the %s schema is version %d, and %d is needed: call Migrate, or set AutoMigrate",
			s.dialect.Name, version, newest)
	}
	return nil
}

// checkKnown refuses tables that this package can neither read nor migrate.
func (s *Store) checkKnown(version int) error {
	switch {
	case version > newest:
		return s.tooNew(version)
	case version <= oldest:
		return fmt.Errorf("sqlrun: the tables %s… of the %s database were written by an older Weft (version %d of the schema), and "+
			"cannot be read: remove them, or set another prefix", s.writer.table(""), s.dialect.Name, version)
	}
	return nil
}

func (s *Store) tooNew(version int) error {
	return fmt.Errorf("sqlrun: the %s schema is version %d, and this program knows %d: use a newer release of Weft",
		s.dialect.Name, version, newest)
}

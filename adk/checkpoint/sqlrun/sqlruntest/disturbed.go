package sqlruntest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
)

// way is a way in which a statement goes wrong.
type way struct {
	name string
	// done: the database executes the statement before that.
	done bool
	// breaks: the connection ends.
	breaks bool
	err    error
}

// disturbed makes connections whose statements go wrong as a test says. Every statement, and the beginning and the end
// of a transaction, is a step.
type disturbed struct {
	driver.Connector
	way way

	mu sync.Mutex // guards the fields below
	// at is the step that goes wrong, 0 for none, and steps how many there were since that was set.
	at, steps int
}

// open opens a database with such connections.
func (d *disturbed) open(c driver.Connector) *sql.DB {
	d.Connector = c
	return sql.OpenDB(d)
}

func (d *disturbed) fail(step int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.steps = step, 0
}

// mend has everything succeed, and reports whether the step was reached.
func (d *disturbed) mend() (reached bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reached = d.at > 0 && d.steps >= d.at
	d.at = 0
	return reached
}

// isDue counts a step and reports whether it goes wrong.
func (d *disturbed) isDue() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps++
	return d.steps == d.at
}

// step executes a step.
func (d *disturbed) step(conn driver.Conn, do func() error) error {
	if !d.isDue() {
		return do()
	}
	if d.way.done {
		if err := do(); err != nil {
			return err
		}
	}
	if d.way.breaks {
		_ = conn.Close()
	}
	return d.way.err
}

func (d *disturbed) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := d.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &disturbedConn{conn, d}, nil
}

// disturbedConn is a connection of it. What a driver need not offer is passed on to the one below, which must offer it.
type disturbedConn struct {
	driver.Conn
	d *disturbed
}

func (c *disturbedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (tx driver.Tx, err error) {
	err = c.d.step(c.Conn, func() (err error) {
		tx, err = c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
		return err
	})
	if err != nil {
		if tx != nil {
			_ = tx.Rollback()
		}
		return nil, err
	}
	return &disturbedTx{tx, c}, nil
}

func (c *disturbedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	return c.rows(func() (driver.Rows, error) { return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args) })
}

// rows asks for rows. Rows of a step that goes wrong are not read: a database may have written all the same.
func (c *disturbedConn) rows(ask func() (driver.Rows, error)) (rows driver.Rows, err error) {
	err = c.d.step(c.Conn, func() (err error) {
		rows, err = ask()
		return err
	})
	if err != nil {
		if rows != nil {
			_ = rows.Close()
		}
		return nil, err
	}
	return rows, nil
}

func (c *disturbedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.d.step(c.Conn, func() (err error) {
		result, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

func (c *disturbedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &disturbedStmt{stmt, c}, nil
}

func (c *disturbedConn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *disturbedConn) IsValid() bool {
	if v, ok := c.Conn.(driver.Validator); ok {
		return v.IsValid()
	}
	return true
}

func (c *disturbedConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type disturbedStmt struct {
	driver.Stmt
	c *disturbedConn
}

func (s *disturbedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.rows(func() (driver.Rows, error) { return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args) })
}

func (s *disturbedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (result driver.Result, err error) {
	err = s.c.d.step(s.c.Conn, func() (err error) {
		result, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		return err
	})
	return result, err
}

type disturbedTx struct {
	driver.Tx
	c *disturbedConn
}

func (t *disturbedTx) Commit() error {
	err := t.c.d.step(t.c.Conn, t.Tx.Commit)
	if err != nil && err == t.c.d.way.err && !t.c.d.way.done {
		_ = t.Tx.Rollback() // the driver believes the transaction to be over
	}
	return err
}

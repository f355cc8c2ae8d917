package sqlrun

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

// Dialect describes the differences of a database. All databases know CTEs, RETURNING, ON CONFLICT, partial indexes and
// UPDATE … FROM.
type Dialect struct {
	// Name is for errors: "sqlite", "postgres".
	Name string
	// Parameter is the character before the number of a parameter: "$" or "?".
	Parameter string
	// Now is an expression for the time: microseconds since 1970, a 64-bit integer. It must not be the time at which the
	// transaction began.
	Now string
	// Text, Int and Blob are types of columns: text that is compared byte by byte, a 64-bit integer, bytes.
	Text, Int, Blob string
	// RunOptions is written behind the definition of the table of runs.
	RunOptions string
	// CreateTokens are statements that make the source of tokens. {tokens} is its name.
	CreateTokens []string
	// BumpToken is a statement that moves the source of tokens on; "" if Token does that.
	BumpToken string
	// Token is an expression for the next token, after BumpToken.
	Token string
	// ForUpdate and SkipLocked end a query whose rows are locked; SkipLocked leaves out rows that others have locked.
	// Both are "" if a transaction excludes every other one that writes; a database that has them has PL/pgSQL, too.
	ForUpdate, SkipLocked string
	// IndexedBy stands before the name of the index that a query is to use, for a database that would otherwise choose
	// without knowing what the tables have; "" for one that knows.
	IndexedBy string
	// Explain stands before a query to have the database say how it would find the rows: see Store.Plans.
	Explain string
	// LockSchema is a statement that makes migrations wait for each other; "" if transactions do.
	LockSchema string
	// Retryable reports whether an error may be gone when the transaction is tried again: the database was busy, or
	// could not be reached, or had to choose between transactions.
	Retryable func(error) bool
	// Full reports whether an error says that the database has no room left; nil if there is no such error.
	Full func(error) bool
	// Exists reports whether an error says that a row or a table exists.
	Exists func(error) bool
}

// oneWriter reports whether a transaction that writes excludes every other one.
func (d *Dialect) oneWriter() bool { return d.ForUpdate == "" }

func (d *Dialect) check() error {
	for _, f := range []string{d.Name, d.Parameter, d.Now, d.Text, d.Int, d.Blob, d.Token} {
		if f == "" {
			return errors.New("sqlrun: the dialect lacks one of Name, Parameter, Now, Text, Int, Blob and Token")
		}
	}
	if d.Retryable == nil || d.Exists == nil {
		return errors.New("sqlrun: the dialect lacks Retryable or Exists")
	}
	return nil
}

// writer writes statements for a database. In them {runs} is the name of a table, {name_runs} the name of an index,
// {by_runs} has that index used, {now} and {token} are expressions, and $1 is a parameter. {at} is the time as a condition
// of an index needs it: one that is found once.
type writer struct {
	dialect Dialect
	// schema is "" for the one that connections use.
	schema, prefix, now string
}

var (
	identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,30}$`)
	braces     = regexp.MustCompile(`\{[a-z_]+\}`)
	parameters = regexp.MustCompile(`\$(\d)`)
)

func newWriter(d Dialect, schema, prefix, now string) (*writer, error) {
	if prefix == "" {
		prefix = "weft_"
	}
	if now == "" {
		now = d.Now
	}
	for what, name := range map[string]string{"prefix": prefix, "schema": schema} {
		if name != "" && !identifier.MatchString(name) {
			return nil, fmt.Errorf("sqlrun: the %s %q cannot be used: take up to 31 of a-z, 0-9 and _", what, name)
		}
	}
	return &writer{dialect: d, schema: schema, prefix: prefix, now: now}, nil
}

// table is the name of a table in statements.
func (w *writer) table(name string) string {
	if w.schema != "" {
		return w.schema + "." + w.prefix + name
	}
	return w.prefix + name
}

func (w *writer) write(statement string) string {
	d := &w.dialect
	fixed := map[string]string{
		"{now}": w.now, "{at}": "(SELECT " + w.now + ")", "{own}": encode(storekit.OwnQueue), "{text}": d.Text, "{int}": d.Int, "{blob}": d.Blob,
		"{run_options}": d.RunOptions, "{for_update}": d.ForUpdate, "{skip_locked}": d.SkipLocked,
		"{columns}": columns, "{r_columns}": "r." + strings.ReplaceAll(columns, ", ", ", r."),
	}
	statement = strings.ReplaceAll(statement, "{token}", d.Token)
	statement = braces.ReplaceAllStringFunc(statement, func(name string) string {
		if s, ok := fixed[name]; ok {
			return s
		}
		bare := name[1 : len(name)-1]
		if index, ok := strings.CutPrefix(bare, "name_"); ok {
			return w.prefix + index
		}
		if index, ok := strings.CutPrefix(bare, "by_"); ok {
			if d.IndexedBy == "" {
				return ""
			}
			return d.IndexedBy + " " + w.prefix + index
		}
		return w.table(bare)
	})
	if d.Parameter != "$" {
		statement = parameters.ReplaceAllString(statement, strings.ReplaceAll(d.Parameter, "$", "$$")+"$1")
	}
	return statement
}

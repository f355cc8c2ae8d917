// Package sqlrun keeps runs in an SQL database that many processes share: a runs.Store on database/sql.
//
// It has the tables, the statements and the transactions; a [Dialect] has what differs between databases. Programs use
// a module that brings a driver and its dialect, such as ext/store/sqlite and ext/store/postgres. Package sqlruntest
// tests a dialect.
//
// A run is a row; its records, questions, tags and values (checkpoint, result) are rows of other tables that refer to
// it by number. Times are microseconds since 1970, by the clock of the database. What users name (IDs, tenants, agents,
// …) may have any bytes: see names.go for how it is written.
package sqlrun

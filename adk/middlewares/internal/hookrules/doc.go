// Package hookrules holds all middlewares against the rules that they share.
//
// It has nothing but tests. It must never have anything else.
package hookrules

package jinja

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// statement holds what the statements of this package have in common.
type statement struct {
	name     string
	location *tokens.Token
}

func (s *statement) Position() *tokens.Token { return s.location }
func (s *statement) String() string          { return s.name }

// disabled is the parser of a statement that is not allowed.
func disabled(name string) parser.ControlStructureParser {
	return func(*parser.Parser, *parser.Parser) (nodes.ControlStructure, error) {
		return nil, fmt.Errorf("keyword[%s] has been disabled", name)
	}
}

// setStatement sets a variable, or an attribute of a namespace, to a value or to what its body prints.
type setStatement struct {
	statement
	target      nodes.Expression
	value       nodes.Expression
	condition   nodes.Expression
	alternative nodes.Expression
	body        *nodes.Wrapper
}

func parseSet(p, args *parser.Parser) (nodes.ControlStructure, error) {
	s := &setStatement{statement: statement{"set", p.Current()}}
	var err error
	if s.target, err = args.ParseVariableOrLiteral(); err != nil {
		return nil, err
	}
	if args.Match(tokens.Assign) == nil {
		s.body, err = wrapped(p, args, "endset")
		return s, err
	}
	if s.value, err = args.ParseExpression(); err != nil {
		return nil, err
	}
	if s.condition, s.alternative, err = args.ParseCondition(); err != nil {
		return nil, err
	}
	return s, expectEnd(args)
}

// wrapped parses the body of a statement whose arguments have been read.
func wrapped(p, args *parser.Parser, end string) (*nodes.Wrapper, error) {
	if err := expectEnd(args); err != nil {
		return nil, err
	}
	body, endArgs, err := p.WrapUntil(end)
	if err != nil {
		return nil, err
	}
	return body, expectEnd(endArgs)
}

func expectEnd(args *parser.Parser) error {
	if args.End() {
		return nil
	}
	return args.Error("Malformed statement.", args.Current())
}

func (s *setStatement) guard() {
	s.value, s.condition, s.alternative = guard(s.value), guard(s.condition), guard(s.alternative)
	if s.body != nil {
		guardNodes(s.body.Nodes)
	}
}

func (s *setStatement) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	v, err := s.eval(r)
	if err != nil {
		return err
	}
	switch target := s.target.(type) {
	case *nodes.Name:
		r.Environment.Context.Set(target.Name.Val, v)
		return nil
	case *nodes.GetAttribute:
		owner := r.Eval(target.Node)
		if ns, ok := owner.Interface().(*namespace); ok && target.Attribute != "" {
			ns.values[target.Attribute] = v
			return nil
		}
	}
	// Anything else may be the caller's, who may be rendering other templates with it right now.
	return errors.New("set can change variables and attributes of a namespace only")
}

func (s *setStatement) eval(r *exec.Renderer) (*exec.Value, error) {
	if s.body != nil {
		text, err := capture(r, s.body)
		return exec.AsSafeValue(text), err
	}
	chosen := s.value
	if s.condition != nil {
		condition := r.Eval(s.condition)
		if condition.IsError() {
			return nil, condition
		}
		if !condition.IsTrue() {
			chosen = s.alternative
		}
	}
	if chosen == nil {
		return exec.AsValue(nil), nil
	}
	v := r.Eval(chosen)
	if v.IsError() {
		return nil, v
	}
	return v, nil
}

// capture executes a body and returns what it prints.
func capture(r *exec.Renderer, body *nodes.Wrapper) (string, error) {
	var out strings.Builder
	sub := r.Inherit()
	sub.Output = &out
	err := sub.ExecuteWrapper(body)
	return out.String(), err
}

// withStatement sets variables for its body.
type withStatement struct {
	statement
	names  []string
	values []nodes.Expression
	body   *nodes.Wrapper
}

func parseWith(p, args *parser.Parser) (nodes.ControlStructure, error) {
	s := &withStatement{statement: statement{"with", p.Current()}}
	for !args.End() {
		name := args.Match(tokens.Name)
		if name == nil || args.Match(tokens.Assign) == nil {
			return nil, args.Error("Expected name=value.", args.Current())
		}
		value, err := args.ParseExpression()
		if err != nil {
			return nil, err
		}
		s.names, s.values = append(s.names, name.Val), append(s.values, value)
		if args.Match(tokens.Comma) == nil {
			break
		}
	}
	var err error
	s.body, err = wrapped(p, args, "endwith")
	return s, err
}

func (s *withStatement) guard() {
	guardAll(s.values)
	guardNodes(s.body.Nodes)
}

func (s *withStatement) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	sub := r.Inherit()
	for i, name := range s.names {
		v := r.Eval(s.values[i])
		if v.IsError() {
			return v
		}
		sub.Environment.Context.Set(name, v)
	}
	return sub.ExecuteWrapper(s.body)
}

// filterStatement prints its body through filters.
type filterStatement struct {
	statement
	filters []*nodes.FilterCall
	body    *nodes.Wrapper
}

func parseFilter(p, args *parser.Parser) (nodes.ControlStructure, error) {
	s := &filterStatement{statement: statement{"filter", p.Current()}}
	for {
		filter, err := args.ParseFilter()
		if err != nil {
			return nil, err
		}
		s.filters = append(s.filters, filter)
		if args.Match(tokens.Pipe) == nil {
			break
		}
	}
	var err error
	s.body, err = wrapped(p, args, "endfilter")
	return s, err
}

func (s *filterStatement) guard() {
	guardFilters(s.filters)
	guardNodes(s.body.Nodes)
}

func (s *filterStatement) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	text, err := capture(r, s.body)
	if err != nil {
		return err
	}
	v := exec.AsValue(text)
	for _, filter := range s.filters {
		if v = r.Evaluator().ExecuteFilter(filter, v); v.IsError() {
			return v
		}
	}
	if err := budgetOf(r.Environment).printValue(v); err != nil {
		return err
	}
	_, err = io.WriteString(r.Output, v.String())
	return err
}

// namespace is the one thing whose attributes a template can change.
type namespace struct{ values map[string]*exec.Value }

func newNamespace(_ *exec.Evaluator, params *exec.VarArgs) *exec.Value {
	ns := &namespace{values: map[string]*exec.Value{}}
	for name, v := range params.KwArgs {
		ns.values[name] = v
	}
	return exec.AsValue(ns)
}

// GetAttribute returns an attribute to the engine.
func (ns *namespace) GetAttribute(name string) (*exec.Value, bool) {
	v, ok := ns.values[name]
	if !ok {
		v = exec.AsValue(nil)
	}
	return v, ok
}

// String does not show the values, which may be the namespace itself.
func (ns *namespace) String() string {
	names := make([]string, 0, len(ns.values))
	for name := range ns.values {
		names = append(names, name)
	}
	slices.Sort(names)
	return "<namespace " + strings.Join(names, ", ") + ">"
}

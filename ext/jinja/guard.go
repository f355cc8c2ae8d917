package jinja

import (
	"math"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// The guards are filters that the compiled template is interspersed with. No template can name them by accident.
const (
	usedFilter     = "\x00used"     // spends the steps of going through a value
	madeFilter     = "\x00made"     // checks a value that the template has made
	iteratedFilter = "\x00iterated" // checks what a loop goes through
	printedFilter  = "\x00printed"  // checks what is printed
	timesFilter    = "\x00times"    // multiplies
)

var guardToken = &tokens.Token{Type: tokens.Name, Val: "guard"}

var guardNames = []string{usedFilter, madeFilter, iteratedFilter, printedFilter, timesFilter}

func filterCall(name string, args ...nodes.Expression) *nodes.FilterCall {
	return &nodes.FilterCall{Token: guardToken, Name: name, Args: args}
}

func filtered(e nodes.Expression, name string, args ...nodes.Expression) nodes.Expression {
	return &nodes.FilteredExpression{Expression: e, Filters: []*nodes.FilterCall{filterCall(name, args...)}}
}

// guardTemplate puts guards around all that a template does.
func guardTemplate(root *nodes.Template) {
	guardNodes(root.Nodes)
	for _, block := range root.Blocks {
		guardCallee(block)
	}
}

func guardNodes(list []nodes.Node) {
	for _, node := range list {
		switch n := node.(type) {
		case *nodes.Output:
			n.Expression = filtered(guard(n.Expression), printedFilter)
			n.Condition = guard(n.Condition)
			if n.Alternative != nil {
				n.Alternative = filtered(guard(n.Alternative), printedFilter)
			}
		case *nodes.ControlStructureBlock:
			guardStatement(n.ControlStructure)
		}
	}
}

func guardStatement(statement nodes.ControlStructure) {
	switch s := statement.(type) {
	case *controlStructures.IfControlStructure:
		guardAll(s.Conditions)
		for _, w := range s.Wrappers {
			guardNodes(w.Nodes)
		}
	case *controlStructures.ForControlStructure:
		s.ObjectEvaluator = filtered(guard(s.ObjectEvaluator), iteratedFilter)
		s.IfCondition = guard(s.IfCondition)
		guardCallee(s.BodyWrapper)
		if s.EmptyWrapper != nil {
			guardNodes(s.EmptyWrapper.Nodes)
		}
	case *controlStructures.MacroControlStructure:
		for _, argument := range s.Kwargs {
			argument.Value = guard(argument.Value)
		}
		guardCallee(s.Wrapper)
	case *controlStructures.AutoescapeControlStructure:
		guardNodes(s.Wrapper.Nodes)
	case guarded:
		s.guard()
	}
}

// guarded is a statement of this package.
type guarded interface{ guard() }

// guardCallee guards what can be executed again and again, and by itself.
func guardCallee(w *nodes.Wrapper) {
	guardNodes(w.Nodes)
	enter := &tick{steps: stepsPerCall + stepsPerIteration*len(w.Nodes), enter: 1}
	for _, node := range w.Nodes {
		if text, ok := node.(*nodes.Data); ok {
			enter.bytes += len(text.Data.Val)
		}
	}
	guardedNodes := []nodes.Node{tickNode(enter)}
	guardedNodes = append(guardedNodes, w.Nodes...)
	w.Nodes = append(guardedNodes, tickNode(&tick{enter: -1}))
}

func tickNode(t *tick) nodes.Node {
	return &nodes.ControlStructureBlock{Location: guardToken, Name: "guard", ControlStructure: t}
}

func guardAll(list []nodes.Expression) {
	for i := range list {
		list[i] = guard(list[i])
	}
}

func guardMap(named map[string]nodes.Expression) {
	for name, e := range named {
		named[name] = guard(e)
	}
}

func guardFilters(calls []*nodes.FilterCall) {
	for _, call := range calls {
		guardAll(call.Args)
		guardMap(call.Kwargs)
	}
}

// guard returns the expression with guards in it, and around it if it makes a value.
func guard(e nodes.Expression) nodes.Expression {
	switch n := e.(type) {
	case *nodes.List:
		guardAll(n.Val)
		return filtered(n, madeFilter)
	case *nodes.Tuple:
		guardAll(n.Val)
		return filtered(n, madeFilter)
	case *nodes.Dict:
		for _, pair := range n.Pairs {
			pair.Key, pair.Value = guard(pair.Key), guard(pair.Value)
		}
		return filtered(n, madeFilter)
	case *nodes.GetItem:
		n.Node, n.Arg = guardTarget(n.Node), guard(n.Arg)
	case *nodes.GetAttribute:
		n.Node = guardTarget(n.Node)
	case *nodes.GetSlice:
		n.Node, n.Start, n.End, n.Step = guardTarget(n.Node), guard(n.Start), guard(n.End), guard(n.Step)
		return filtered(n, madeFilter)
	case *nodes.Call:
		guardCall(n)
		return filtered(n, madeFilter)
	case *nodes.Negation:
		n.Term = guard(n.Term)
	case *nodes.UnaryExpression:
		n.Term = guard(n.Term)
	case *nodes.BinaryExpression:
		return guardBinary(n)
	case *nodes.FilteredExpression:
		n.Expression = guard(n.Expression)
		guardFilters(n.Filters)
	case *nodes.TestExpression:
		n.Expression = used(n.Expression)
		guardAll(n.Test.Args)
		guardMap(n.Test.Kwargs)
	}
	return e
}

// guardTarget guards what an attribute or an item is taken of.
func guardTarget(n nodes.Node) nodes.Node { return guard(n) }

// guardCall guards the arguments. What is called must stay what it is, because the engine looks at it.
func guardCall(n *nodes.Call) {
	guardAll(n.Args)
	guardMap(n.Kwargs)
	if callee, ok := n.Func.(*nodes.GetAttribute); ok {
		callee.Node = guardTarget(callee.Node)
		n.Parent = callee.Node
		return
	}
	if _, ok := n.Func.(*nodes.Name); !ok {
		n.Func = guard(n.Func)
	}
}

func guardBinary(n *nodes.BinaryExpression) nodes.Expression {
	n.Left, n.Right = used(n.Left), used(n.Right)
	switch n.Operator.Token.Type {
	case tokens.Multiply:
		return filtered(n.Left, timesFilter, n.Right)
	case tokens.Addition, tokens.Tilde:
		return filtered(n, madeFilter)
	}
	return n
}

// used guards an operand that will be gone through.
func used(e nodes.Expression) nodes.Expression {
	switch e.(type) {
	case nil, *nodes.String, *nodes.Integer, *nodes.Float, *nodes.Bool, *nodes.None:
		return e
	}
	return filtered(guard(e), usedFilter)
}

// guardFunctions are the guards themselves.
var guardFunctions = map[string]exec.FilterFunction{
	usedFilter: func(e *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
		if err := budgetOf(e.Environment).use(in); err != nil {
			return exec.AsValue(err)
		}
		return in
	},
	madeFilter: func(e *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
		if err := budgetOf(e.Environment).accept(in); err != nil {
			return exec.AsValue(err)
		}
		return in
	},
	iteratedFilter: func(e *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
		if err := budgetOf(e.Environment).iterate(in); err != nil {
			return exec.AsValue(err)
		}
		return in
	},
	printedFilter: func(e *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
		if err := budgetOf(e.Environment).printValue(in); err != nil {
			return exec.AsValue(err)
		}
		return in
	},
	timesFilter: times,
}

func length(v *exec.Value) int {
	if v.IsIterable() {
		return v.Len()
	}
	return 0
}

func (b *budget) printValue(v *exec.Value) error {
	if v.IsString() {
		return b.print(length(v))
	}
	return b.use(v)
}

// times is the operator *, which repeats strings.
func times(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	factor := params.Args[0]
	switch {
	case in.IsFloat() || factor.IsFloat():
		return exec.AsValue(in.Float() * factor.Float())
	case !in.IsString():
		return exec.AsValue(in.Integer() * factor.Integer())
	}
	text, n := in.String(), max(factor.Integer(), 0)
	if text != "" && n > math.MaxInt32/len(text) || n*len(text) > maxNodes*64 {
		return exec.AsValue(budgetOf(e.Environment).fail(errTooLarge))
	}
	if err := budgetOf(e.Environment).spend(1 + n*len(text)/64); err != nil {
		return exec.AsValue(err)
	}
	return exec.AsValue(strings.Repeat(text, n))
}

package core

import (
	"reflect"
	"slices"
)

// InterruptCtx is one interrupt point as the user sees it: the leaves are the root causes, Parent leads to the root
// of the run.
type InterruptCtx struct {
	ID          string
	Address     Address
	Info        any
	IsRootCause bool
	Parent      *InterruptCtx
}

// EqualsWithoutID compares everything but the IDs, parents included. Two nil contexts are equal.
func (ic *InterruptCtx) EqualsWithoutID(other *InterruptCtx) bool {
	if ic == nil || other == nil {
		return ic == other
	}
	return ic.IsRootCause == other.IsRootCause &&
		ic.Address.Equals(other.Address) &&
		reflect.DeepEqual(ic.Info, other.Info) &&
		ic.Parent.EqualsWithoutID(other.Parent)
}

// InterruptContextsProvider is implemented by the errors that a root run returns for an interrupt.
type InterruptContextsProvider interface {
	GetInterruptContexts() []*InterruptCtx
}

// InterruptSignaler is implemented by the interrupt errors that have the whole signal, with the states that the run
// around the root run keeps for it. It may be nil.
type InterruptSignaler interface {
	InterruptSignal() *InterruptSignal
}

// ToInterruptContexts lists the root causes of a signal tree, each with its chain of parents; siblings share the
// same parent pointer. With allowedSegmentTypes (nil allows all), parents whose last segment is of another type are
// left out and segments of other types are taken out of every address.
func ToInterruptContexts(is *InterruptSignal, allowedSegmentTypes []AddressSegmentType) []*InterruptCtx {
	var leaves []*InterruptCtx
	var walk func(*InterruptSignal, *InterruptCtx)
	walk = func(s *InterruptSignal, parent *InterruptCtx) {
		if s == nil {
			return
		}
		ic := parent
		if s.IsRootCause || visible(s.Address, allowedSegmentTypes) {
			ic = &InterruptCtx{
				ID:          s.ID,
				Address:     strip(s.Address, allowedSegmentTypes),
				Info:        s.InterruptInfo.Info,
				IsRootCause: s.IsRootCause,
				Parent:      parent,
			}
		}
		if s.IsRootCause {
			leaves = append(leaves, ic)
		}
		for _, sub := range s.Subs {
			walk(sub, ic)
		}
	}
	walk(is, nil)
	return leaves
}

func visible(addr Address, allowed []AddressSegmentType) bool {
	return allowed == nil || len(addr) > 0 && slices.Contains(allowed, addr[len(addr)-1].Type)
}

func strip(addr Address, allowed []AddressSegmentType) Address {
	if allowed == nil {
		return addr
	}
	kept := make(Address, 0, len(addr))
	for _, s := range addr {
		if slices.Contains(allowed, s.Type) {
			kept = append(kept, s)
		}
	}
	return kept
}

// FromInterruptContexts rebuilds the signal tree from root causes and their parents; ancestors are joined by ID.
// Several separate roots are put below one that has neither ID nor address. It returns nil for no contexts.
func FromInterruptContexts(contexts []*InterruptCtx) *InterruptSignal {
	byID := map[string]*InterruptSignal{}
	var roots []*InterruptSignal
	var add func(*InterruptCtx) *InterruptSignal
	add = func(ic *InterruptCtx) *InterruptSignal {
		if s, ok := byID[ic.ID]; ok {
			return s
		}
		s := &InterruptSignal{
			ID:            ic.ID,
			Address:       ic.Address,
			InterruptInfo: InterruptInfo{Info: ic.Info, IsRootCause: ic.IsRootCause},
		}
		byID[ic.ID] = s
		if ic.Parent == nil {
			roots = append(roots, s)
			return s
		}
		parent := add(ic.Parent)
		parent.Subs = append(parent.Subs, s)
		return s
	}
	for _, ic := range contexts {
		if ic != nil {
			add(ic)
		}
	}
	switch len(roots) {
	case 0:
		return nil
	case 1:
		return roots[0]
	default:
		return &InterruptSignal{Subs: roots}
	}
}

package compose

import "fmt"

// gather builds a node's input from what its predecessors delivered.
func (r *run) gather(n *planNode) (value any, s stream, err error) {
	outputs := r.take(n)
	r.received = len(outputs)
	if n.mapper != nil {
		if r.streaming {
			s, err = n.mapper.streams(outputs, n.namedMerge)
		} else {
			value, err = n.mapper.values(outputs)
		}
	} else if r.streaming {
		s, err = mergeOutputStreams(n, outputs)
	} else {
		value, err = mergeOutputs(n, outputs)
	}
	if err != nil {
		for _, out := range outputs {
			closeStream(out.stream)
		}
		return nil, nil, graphError(err)
	}
	return value, s, nil
}

func mergeOutputs(n *planNode, outputs []mapped) (any, error) {
	switch len(outputs) {
	case 0:
		return n.input().Zero(), nil
	case 1:
		return convertValue(n, &outputs[0])
	}
	values := make([]any, len(outputs))
	for i := range outputs {
		v, err := convertValue(n, &outputs[i])
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	merged, err := mergeValues(values)
	if _, bad := err.(unmergeable); bad {
		err = fanInAdvice(n, outputs, err)
	}
	return merged, err
}

func convertValue(n *planNode, out *mapped) (any, error) {
	if !out.link.checked {
		return out.value, nil
	}
	return n.input().Check(out.value)
}

func mergeOutputStreams(n *planNode, outputs []mapped) (stream, error) {
	in := n.input()
	switch len(outputs) {
	case 0:
		return in.Single(in.Zero())
	case 1:
		return convertStream(in, &outputs[0]), nil
	}
	source := outputs[0].output
	streams := make([]stream, len(outputs))
	var names []string
	for i := range outputs {
		if t := outputs[i].output.Type(); t != source.Type() {
			return nil, fmt.Errorf("(mergeStream) chunk type mismatch. expect: %v, got: %v", source.Type(), t)
		}
		streams[i] = outputs[i].stream
		if n.namedMerge {
			names = append(names, outputs[i].from)
		}
	}
	if err := checkMergeable(source.Type()); err != nil {
		return nil, fanInAdvice(n, outputs, err)
	}
	outputs[0].stream = source.Merge(streams, names)
	return convertStream(in, &outputs[0]), nil
}

func convertStream(in kind, out *mapped) stream {
	if !out.link.convert {
		return out.stream
	}
	return in.Typed(out.output.Untyped(out.stream), in.Check)
}

func closeStream(s stream) {
	if s != nil {
		s.Close()
	}
}

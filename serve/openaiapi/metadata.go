package openaiapi

import (
	"maps"
	"slices"

	"github.com/weftgo/weft/serve"
)

// Limits of metadata: the limits of the API, and the limits of the labels of a run.
const (
	maxMetadata, maxMetadataKey, maxMetadataValue = 16, 64, 512
	maxLabels, maxLabelValue                      = 10, 128
)

// labelsOf are the labels of a run with metadata: as many as a run can have, in the order of their names, of those whose
// values are short enough.
func labelsOf(metadata map[string]string) (map[string]string, error) {
	if len(metadata) > maxMetadata {
		return nil, serve.NewProblem(serve.BadRequest, "metadata has more than %d members", maxMetadata)
	}
	labels := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		value := metadata[key]
		if key == "" || len(key) > maxMetadataKey || len(value) > maxMetadataValue {
			return nil, serve.NewProblem(serve.BadRequest, "a name in metadata has up to %d bytes, a value %d: %.64q has not",
				maxMetadataKey, maxMetadataValue, key)
		}
		if len(labels) < maxLabels && len(value) <= maxLabelValue {
			labels[key] = value
		}
	}
	return labels, nil
}

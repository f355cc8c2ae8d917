package openai

import (
	"cmp"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// A service is what the servers of a host want otherwise than OpenAI does.
type service struct {
	// hosts are the ends of host names.
	hosts []string
	// texts is the number of texts that a request may have, and size how many bytes they may have together: two for a
	// token, which has as many at least, as good as always.
	texts, size int
	// dimensions is the field for the length of the vectors.
	dimensions string
}

// openAI takes 300,000 tokens in a request.
var openAI = service{
	hosts: []string{"api.openai.com", "openai.azure.com", "openai.azure.us", "openai.azure.cn"},
	texts: 2048, size: 600_000, dimensions: "dimensions",
}

var services = []service{
	openAI,
	{hosts: []string{"aliyuncs.com"}, texts: 10},
	{hosts: []string{"api.siliconflow.cn", "api.siliconflow.com"}, texts: 64},
	{hosts: []string{"api.mistral.ai"}, texts: 2048, size: 32_000, dimensions: "output_dimension"},
	{hosts: []string{"open.bigmodel.cn", "api.z.ai"}, texts: 64},
	{hosts: []string{"generativelanguage.googleapis.com"}, texts: 100},
}

// unknownTexts is for servers that are not in the table: Hugging Face's, for one, takes no more by default.
const unknownTexts = 32

// service returns what the server wants.
func (c *Config) service() service {
	found := service{texts: unknownTexts}
	if c.ByAzure {
		found = openAI
	}
	for _, s := range services {
		for _, host := range s.hosts {
			if strings.HasSuffix("."+c.host(), "."+host) {
				found = s
			}
		}
	}
	found.size = cmp.Or(found.size, openAI.size)
	found.dimensions = cmp.Or(found.dimensions, openAI.dimensions)
	return found
}

func (c *Config) batches() kit.Batches {
	s := c.service()
	return kit.Batches{Texts: cmp.Or(c.BatchSize, s.texts), Bytes: s.size, Concurrency: c.Concurrency}
}

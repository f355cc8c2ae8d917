package toolsearch

const description = `Loads deferred tools, so that you can use them.

There are tools of which you know only the names so far: they are listed in <available-deferred-tools>. You must load such a tool with this one before you call it. A tool that is loaded stays for the rest of the conversation.

Two ways to load:
1. By words, if you do not know which tool you need: "slack message". The tools that fit best are loaded, the best first; at most 5, or max_results.
   A word with + in front must occur: "+slack send" finds only tools of slack, and those for sending first.
2. By name, if you know: "select:slack_send_message". Several names are separated by commas: "select:read_file,edit_file". Names must be exact.

Both ways load what they find. After a search by words that found the tool do not select it again: call it.

Good:
- The user wants to tell someone something on slack. You search "+slack send", slack_send_message is among the matches, and you call it.
- You see github__create_issue in the list and need it. You load it with "select:github__create_issue".

Bad:
- You call slack_send_message, which is in the list, without having loaded it.
- You search "slack", get slack_send_message, and load it once more with "select:slack_send_message".
- You say that there is no tool for something, without having looked in the list and searched.`

const descriptionChinese = `加载延迟工具，使其可以使用。

有些工具目前你只知道名称：它们列在 <available-deferred-tools> 中。调用这类工具之前，必须先用此工具加载。已加载的工具在之后的对话中一直可用。

两种加载方式：
1. 按关键词，在不确定需要哪个工具时使用："slack message"。会加载最匹配的工具，最佳的排在最前；最多 5 个，或由 max_results 指定。
   前面带 + 的词必须出现："+slack send" 只查找 slack 的工具，其中与发送有关的排在前面。
2. 按名称，在知道工具名称时使用："select:slack_send_message"。多个名称用逗号分隔："select:read_file,edit_file"。名称必须准确。

两种方式都会加载找到的工具。按关键词找到工具后，不要再用 select 加载一次，直接调用即可。

正确示例：
- 用户想在 slack 上通知某人。你查找 "+slack send"，结果中有 slack_send_message，然后调用它。
- 你在列表中看到 github__create_issue 并需要它，用 "select:github__create_issue" 加载。

错误示例：
- 未加载就直接调用列表中的 slack_send_message。
- 查找 "slack" 得到 slack_send_message 后，又用 "select:slack_send_message" 再加载一次。
- 没有查看列表也没有查找，就说没有相应的工具。`

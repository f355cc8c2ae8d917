package plantask

// What the model reads about the tools, in Chinese.
const (
	createDescChinese = `向本次工作的任务列表中添加一个任务。任务列表帮助你规划和跟踪工作，也让用户了解进度。

何时使用：
- 工作需要三个或更多步骤，或需要仔细规划。
- 用户要求列出任务，或一次提出多项要求。
- 处于计划模式，或收到新的指示：立即记录由此产生的任务。
- 开始做某件事之前，先创建对应的任务；发现还有其他事要做时，补充任务。

何时不使用：
- 只有一两个简单步骤。
- 闲聊，或可以立即回答的问题。此时直接完成即可。

字段：
- subject：要做什么，简短的祈使句（"修复登录测试"）。
- description：具体内容，应足以让另一个 Agent 完成，并说明怎样才算完成。
- activeForm：务必提供，任务进行中展示给用户的文字（"正在修复登录测试"）。
- metadata：要保存的其他信息，可选。

新任务的状态为 pending，没有负责人。创建之前先调用 TaskList，避免重复。依赖关系通过 TaskUpdate 设置（addBlocks、addBlockedBy）。`

	getDescChinese = `显示一个任务的全部信息：标题、状态、描述、负责人、它所等待的任务以及等待它的任务。

- 开始任务之前使用，以了解任务的具体内容和依赖关系。
- 开始之前确认 "Blocked by" 为空，或其中的任务均已完成。
- 要查看所有任务的概况，请使用 TaskList。`

	listDescChinese = `列出所有任务：ID、状态、标题、负责人以及各任务所等待的任务。

- 用于了解整体进度、当前可以做的任务（pending、无负责人、未被阻塞）以及被阻塞的任务。
- 完成一个任务后再次使用，以找到下一个任务，并查看哪些任务已可以开始。
- 除非有特殊原因，按 ID 从小到大的顺序执行：前面的任务往往为后面的任务做准备。
- 要查看某个任务的全部信息，请使用 TaskGet。`

	updateDescChinese = `修改任务列表中的一个任务。未提供的字段保持不变。

状态流程：pending → in_progress → completed。deleted 会永久移除任务。
- 开始任务之前，先设为 in_progress。
- 只有在全部完成后才能设为 completed。如果测试失败、内容不完整或存在无法解决的错误，保持 in_progress，并为阻碍创建新任务。
- 不再需要的或误建的任务，设为 deleted。
- 完成任务后调用 TaskList 查找下一个任务。

其他字段：subject、description、activeForm、owner；metadata（按键合并，null 删除该键）；addBlocks（必须等待此任务的任务）；addBlockedBy（此任务必须等待的任务）。

任务可能已被其他人修改：修改之前先用 TaskGet 读取最新状态。

示例：
{"taskId": "1", "status": "in_progress"}
{"taskId": "1", "status": "completed"}
{"taskId": "1", "status": "deleted"}
{"taskId": "1", "owner": "my-name"}
{"taskId": "2", "addBlockedBy": ["1"]}`
)

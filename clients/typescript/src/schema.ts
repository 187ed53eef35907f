// Code generated from ../openapi.json by generate.mjs with openapi-typescript. DO NOT EDIT.

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process is alive. */
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics for Prometheus.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the store answers and tasks are fired; 503, with the reason, if not. A store without room for new tasks is ready, with the status full. */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/account-export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Accounts as PUT takes them back, with their keys sealed: only a server with the same master key can open them.
         * @description Needs the role admin.
         */
        get: operations["export-accounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Accounts: by the name for people where one is searched by, by the name in orders otherwise.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-accounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register or change up to 1,000 accounts. A wrong one does not stop the others; the same again changes nothing.
         * @description Needs the role admin.
         */
        post: operations["put-accounts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{account}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * An account, without its keys.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["get-account"];
        /**
         * Register an account at a payment channel, or change all of it. The channel is made once to check the keys. The answer has no key.
         * @description Needs the role admin.
         */
        put: operations["put-account"];
        post?: never;
        /**
         * Delete an account. Its orders and refunds stay, and their attempts are blocked until it is registered again.
         * @description Needs the role admin.
         */
        delete: operations["delete-account"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{account}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give an account new keys. Former ones that decrypt notices or verify answers stay valid for the overlap; requests are signed with the new private key at once.
         * @description Needs the role admin.
         */
        post: operations["rotate-account-secrets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alarms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alarms that are raised or ended lately, and the rules by which they are.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-alarms"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/attention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What needs a person now: endpoints, merchants and queues in trouble, orders without a decision, differences of the bill, nodes, certificates; what affects most first.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-attention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who did what by hand, when and why; newest first.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-audits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/backup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write a consistent copy of the embedded store into a new directory on the server.
         * @description Needs the role admin.
         */
        post: operations["backup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Endpoints: in flight, limit, success rate, breaker, waiting.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-endpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints/{host}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop attempts to an endpoint, or to all endpoints of a host.
         * @description Needs the role operate or admin.
         */
        post: operations["pause-endpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints/{host}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End an endpoint's pause.
         * @description Needs the role operate or admin.
         */
        post: operations["resume-endpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Changes of tasks as they are committed, as server-sent events.
         * @description Needs the role read, operate, decide or admin. Events are named task and attempt; the data of each is an Event. A reader that is too slow misses some, and Last-Event-ID is not supported: what happened before the call is not told. The stream ends when the server shuts down.
         */
        get: operations["events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The newest 200 links, without their addresses.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-links"];
        put?: never;
        /**
         * A link that shows a merchant's notices, or those of one order, to whoever has it: read-only, until it expires or is revoked.
         * @description Needs the role operate or admin.
         */
        post: operations["make-link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/links/{id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a link, at once and at every node.
         * @description Needs the role operate or admin.
         */
        post: operations["revoke-link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchant-export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Merchants as PUT takes them back, with their secrets sealed: only a server with the same master key can open them.
         * @description Needs the role admin.
         */
        get: operations["export-merchants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Merchants: by name where one is searched by, by number otherwise.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-merchants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchants/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register or change up to 1,000 merchants. A wrong one does not stop the others; the same again changes nothing.
         * @description Needs the role admin.
         */
        post: operations["put-merchants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchants/reseal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Seal all secrets of merchants and accounts under the newest master key, so that older ones can be taken out of the configuration.
         * @description Needs the role admin.
         */
        post: operations["reseal-merchants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchants/{merchant_no}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A merchant, without its secrets.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["get-merchant"];
        /**
         * Register a merchant, or change all of it. The answer has no secret.
         * @description Needs the role admin.
         */
        put: operations["put-merchant"];
        post?: never;
        /**
         * End a merchant's registration. Its tasks stay; those without an address of their own fail, attempt by attempt, until it is registered again.
         * @description Needs the role admin.
         */
        delete: operations["delete-merchant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchants/{merchant_no}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop attempts of notifications that name a merchant, wherever they go. Their schedules wait.
         * @description Needs the role operate or admin.
         */
        post: operations["pause-merchant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchants/{merchant_no}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a merchant's pause.
         * @description Needs the role operate or admin.
         */
        post: operations["resume-merchant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchants/{merchant_no}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a merchant a new secret. For the overlap the former one signs, too, if the scheme has room for two signatures.
         * @description Needs the role admin.
         */
        post: operations["rotate-merchant-secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchants/{merchant_no}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How a merchant's newest tasks went: success rate, backlog, last failures.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["merchant-stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/merchants/{merchant_no}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a merchant a test: one task with the event bellman.test, attempted once, as any other.
         * @description Needs the role operate or admin.
         */
        post: operations["test-merchant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Nodes that share the store: their shards and epochs, their last beat, and which one answers.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The notices of payment channels, the newest first.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-notices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Orders that fit, newest first, without what belongs to them: notifications, refunds, notices.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-orders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask the channel about up to 1,000 orders now, decided ones too, and answer how each stands.
         * @description Needs the role submit, operate, decide or admin.
         */
        post: operations["settle-orders"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders/{merchant_no}/{order_no}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything about one order: how it stands, its tasks, and their attempts in time order.
         * @description Needs the role submit, read, operate, decide or admin.
         */
        get: operations["get-order"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders/{merchant_no}/{order_no}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the watch of an order. Nothing is decided, and nothing is closed at the channel.
         * @description Needs the role submit, operate or admin.
         */
        post: operations["cancel-order"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders/{merchant_no}/{order_no}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide an order: the answer came another way, such as the channel's own notice. After the decision, a payment is noted as a late one.
         * @description Needs the role submit or admin.
         */
        post: operations["complete-order"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders/{merchant_no}/{order_no}/decide": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide an order by hand: a person knows the outcome. It raises the alarm order_decided_by_hand. Otherwise as complete-order.
         * @description Needs the role decide or admin.
         */
        post: operations["decide-order"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders/{merchant_no}/{order_no}/notice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify and apply a notice about an order that another program received.
         * @description Needs the role submit or admin.
         */
        post: operations["hand-in-notice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Queues: rules, depth, oldest overdue, in flight, rates.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-queues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queues/{queue}/keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A task with its request and its log of attempts.
         * @description Needs the role submit, read, operate, decide or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
         */
        get: operations["get-task-by-key"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queues/{queue}/keys/{key}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a task; one that had ended before a resend keeps that end. An attempt in flight may still arrive.
         * @description Needs the role operate or admin; submit may cancel orders. The key's slashes may be escaped (%2F), which is always exact, or not.
         */
        post: operations["cancel-task-by-key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queues/{queue}/keys/{key}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a task as succeeded: the answer came another way.
         * @description Needs the role operate or admin; for the task of an order submit or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
         */
        post: operations["complete-task-by-key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queues/{queue}/keys/{key}/reschedule": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move a task's next attempt: give due or delay.
         * @description Needs the role operate or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
         */
        post: operations["reschedule-task-by-key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queues/{queue}/keys/{key}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * One attempt now, from any state.
         * @description Needs the role operate or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
         */
        post: operations["resend-task-by-key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queues/{queue}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop attempts of a queue's tasks.
         * @description Needs the role operate or admin.
         */
        post: operations["pause-queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queues/{queue}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a queue's pause.
         * @description Needs the role operate or admin.
         */
        post: operations["resume-queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reconciliations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reconciliations, those of the newest days first, at most 200.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-reconciliations"];
        put?: never;
        /**
         * Compare the orders of a queue with the bill of its channel, as a durable job.
         * @description Needs the role operate or admin.
         */
        post: operations["start-reconciliation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reconciliations/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compare the orders of a queue with a file, which is the body of the request: at most 512 MiB.
         * @description Needs the role operate or admin.
         */
        post: operations["reconcile-file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reconciliations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A reconciliation and its counts.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["get-reconciliation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reconciliations/{id}/differences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The differences of a reconciliation, by page.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-differences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reconciliations/{id}/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask the channel once about each order that differs.
         * @description Needs the role operate, decide or admin.
         */
        post: operations["settle-reconciliation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/resends": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The newest 50 bulk resends.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-resends"];
        put?: never;
        /**
         * Send many tasks again, as a durable job; or say how many that would be.
         * @description Needs the role operate or admin.
         */
        post: operations["start-resend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/resends/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A bulk resend and its progress.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["get-resend"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/resends/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a bulk resend. What was sent again stays so.
         * @description Needs the role operate or admin.
         */
        post: operations["cancel-resend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Queues and streams of brokers whose messages become tasks: state, counts, what went wrong.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-sources"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counts, and percentiles of lateness, of the latest window.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tasks that fit, newest first.
         * @description Needs the role read, operate, decide or admin.
         */
        get: operations["list-tasks"];
        put?: never;
        /**
         * Create a task. It is durable when 201 is answered.
         * @description Needs the role submit or admin.
         */
        post: operations["create-task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create up to 1,000 tasks. A bad one does not stop the others.
         * @description Needs the role submit or admin.
         */
        post: operations["create-tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A task with its request and its log of attempts.
         * @description Needs the role submit, read, operate, decide or admin.
         */
        get: operations["get-task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a task; one that had ended before a resend keeps that end. An attempt in flight may still arrive.
         * @description Needs the role operate or admin; submit may cancel orders.
         */
        post: operations["cancel-task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a task as succeeded: the answer came another way.
         * @description Needs the role operate or admin; for the task of an order submit or admin.
         */
        post: operations["complete-task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}/reschedule": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move a task's next attempt: give due or delay.
         * @description Needs the role operate or admin.
         */
        post: operations["reschedule-task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * One attempt now, from any state.
         * @description Needs the role operate or admin.
         */
        post: operations["resend-task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Account: {
            account: string;
            /** @description alipay: the public keys or certificates that verify answers. All of them, or none to leave them. */
            alipay_public_keys?: string[] | null;
            /** @description wechatpay: decrypts notices; without it none can be read. */
            api_v3_key?: string;
            /** @description alipay: of a merchant that authorised another one's application. */
            app_auth_token?: string;
            /** @description alipay: of an application with certificates. */
            app_certificate?: string;
            app_id?: string;
            /** @description wechatpay: the merchant's certificate. It says serial and when it expires. */
            certificate?: string;
            channel: string;
            /** Format: date-time */
            created: string;
            /** @description What the channel's limits count. Accounts with the same one share a rate and a pace, and are paused together. */
            endpoint: string;
            /** @description Keys that a rotation replaced, and that stay valid for a while. */
            former?: components["schemas"]["FormerKey"][] | null;
            /** @description Which account it is at the channel: a channel_order_no is unique within it. */
            identity: string;
            /** @description All keys with their times. */
            keys: components["schemas"]["AccountKey"][];
            mch_id?: string;
            name: string;
            /** @description wechatpay: the public keys and certificates that verify answers, by their ids. All of them, or none to leave them. {"certificates": "fetch"}: the certificates are fetched from WeChat Pay and renewed. */
            platform_keys?: {
                [key: string]: string;
            };
            /** @description The merchant's or the application's private key, which signs requests. */
            private_key?: string;
            /** @description Why the channel cannot be asked now: a master key is missing, or the keys cannot be opened. */
            problem?: string;
            rate?: string;
            /** @description alipay: of an application with certificates. */
            root_certificates?: string;
            seller_id?: string;
            serial?: string;
            /** @description The smallest rate of all accounts with this endpoint. Absent if none has one. */
            shared_rate?: string;
            sub_mch_id?: string;
            /** Format: date-time */
            updated: string;
            url?: string;
            /** @description Changes with each change of the account. */
            version: string;
        };
        AccountBatch: {
            accounts: components["schemas"]["PutAccount"][];
            /** @description Dry run: nothing is changed. */
            dry_run?: boolean;
            reason?: string;
        };
        AccountBatched: {
            results: components["schemas"]["AccountResult"][];
        };
        AccountKey: {
            /** Format: date-time */
            added: string;
            /** @description private_key, platform_keys.ID, … */
            field: string;
            /** @description Empty of a key in PEM, and of one so short that this would reveal too much of it. */
            last_four: string;
            /** @description Id of the master key that seals it. */
            master_key: string;
            /**
             * Format: date-time
             * @description End of its validity: when a certificate expires, or the overlap of a former key ends; null: no end.
             */
            until: string | null;
        };
        AccountLeft: {
            /** @description Empty: the queue's own. */
            account: string;
            /** @description Why; only the first 100 accounts have it. */
            error: string;
        };
        AccountPage: {
            accounts: components["schemas"]["Account"][];
            /** @description Cursor of the next page; empty only at the end. */
            next_cursor: string;
        };
        AccountResult: {
            account: string;
            error?: components["schemas"]["Problem"];
            /**
             * Format: int32
             * @description 201: created. 200: changed. 204: unchanged. Otherwise see error.
             */
            status: number;
        };
        Alarm: {
            /** Format: double */
            above: number;
            /** @description Only of an order, refund or transfer that needs a person. */
            affected?: components["schemas"]["AlarmCase"];
            /** @description Only of credential_expires: the certificate or key, by its place in the configuration. */
            credential?: string;
            /** @description Only of order_decided_by_hand. */
            decision?: components["schemas"]["Decision"];
            /** @description The queue or endpoint of the alarm; * for those beyond the most that are reported one by one. */
            endpoint: string;
            /**
             * Format: date-time
             * @description When the credential expires.
             */
            expires?: string;
            name: string;
            /** @description Empty: all queues. */
            queue: string;
            /** @description Why the alarm ended: over, rule_removed or rule_changed; empty while it is raised. */
            reason: string;
            /** Format: date-time */
            since: string;
            /** @description The notify queue; empty: no rule covers it, so nobody is told. */
            to: string;
            /**
             * Format: date-time
             * @description null while the alarm is raised.
             */
            until: string | null;
            /** @description Why no task reports the latest change; empty: a task does. */
            untold: string;
            /**
             * Format: double
             * @description Value when the alarm was raised.
             */
            value: number;
            when: string;
        };
        AlarmCase: {
            /** @description Empty: bellman has no such order. */
            merchant_no: string;
            order_no: string;
            /** @description Number of the refund or transfer; absent: it is an order. */
            ref_no?: string;
            /** @description The state of the order, refund or transfer. */
            state: string;
            /** Format: uuid */
            task: string;
            why: string;
        };
        AlarmRule: {
            /**
             * Format: double
             * @description Threshold: seconds for overdue and store_slow, otherwise a count.
             */
            above: number;
            /** @description How long the condition must hold. */
            for: string;
            /** @example notify-overdue */
            name: string;
            /** @description The queue whose tasks count; empty: all queues. */
            queue: string;
            /** @description The notify queue. */
            to: string;
            /** @enum {string} */
            when: "overdue" | "endpoint_failing" | "orders_unknown" | "tasks_failed" | "store_slow" | "overloaded" | "node_silent" | "credential_expires" | "order_decided_by_hand" | "order_needs_action" | "amount_mismatch" | "late_payment" | "payment_without_order" | "poll_needs_action" | (string & {});
        };
        Alarms: {
            /** @description Raised alarms, then alarms that ended within a day, or within a week if they have affected; the newest first. */
            alarms: components["schemas"]["Alarm"][];
            rules: components["schemas"]["AlarmRule"][];
        };
        AskedOfOrder: {
            /** Format: date-time */
            at: string;
            error?: string;
            /** @description After the query. */
            order_state: string;
            /** @description What the channel answered, such as PAID. */
            reading: string;
            /** @description The order agrees with the bill now. */
            settled: boolean;
        };
        AtChannel: {
            /**
             * Format: int64
             * @description In the smallest unit of its currency; absent: not said, or 0.
             */
            amount?: number;
            /** @description The channel's number of it. */
            channel_ref_no?: string;
            /** @description Its state in the channel's words. */
            channel_state?: string;
            /** @description ISO 4217. */
            currency?: string;
            /** @description Why it failed, in the channel's words. */
            fail_reason?: string;
            /**
             * Format: date-time
             * @description When the channel finished it.
             */
            finished_at?: string;
        };
        Attempt: {
            /** @description The action of the attempt, if tasks of the queue have several: query, close, … */
            action?: string;
            /** Format: date-time */
            due: string;
            error: string;
            /**
             * Format: int64
             * @description Started minus due, never negative.
             */
            lateness_ms: number;
            node: string;
            /**
             * Format: int32
             * @description 1 for the first.
             */
            number: number;
            /** @description How the answer was read. Order, query: PENDING, NOT_FOUND, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED, or QUERY_ERROR if the answer says nothing about the order or is missing. Close or reverse: closed, already_closed, paid_hint, in_flight, not_exist, unknown; refunded: reversed after it was paid. Poll: PENDING, NOT_FOUND, DONE, FAILED_THERE or QUERY_ERROR; of a request: accepted, refused or unknown. */
            reading?: string;
            /** @description The answer, cut at 600 characters. */
            response: string;
            /** @description The header of an answer that was not accepted, 1,024 characters in all. Fields that may hold credentials, such as Set-Cookie, are never kept. *** stands for a value that is masked. */
            response_headers?: {
                [key: string]: string;
            };
            /** @enum {string} */
            result: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown" | (string & {});
            /** @description Only if the attempt was asked for by its number. */
            sent?: components["schemas"]["Sent"];
            /** Format: date-time */
            started: string;
            /**
             * Format: int32
             * @description HTTP status; 0: no answer.
             */
            status: number;
            /** @description Parts of took_ms; absent if none was measured, as for requests to a channel. */
            timing?: components["schemas"]["Timing"];
            /**
             * Format: int64
             * @description From the start to the last byte, or to the timeout.
             */
            took_ms: number;
            /**
             * @description Trigger of the attempt.
             * @enum {string}
             */
            trigger: "schedule" | "manual" | "settle" | "takeover" | (string & {});
        };
        Attention: {
            /** @description The raised alarm about it; empty: none. */
            alarm: string;
            /** @description Sums of the affected orders, as far as known: of at most 1,000 overdue and 1,000 deferred tasks, 200 pending tasks of a merchant, and 200 failed orders of a queue. */
            amounts: components["schemas"]["AttentionAmount"][];
            /**
             * Format: date-time
             * @description Only of credential_expires.
             */
            expires: string | null;
            /** @description The last failed attempt; of tasks_failed that of the merchant with the most failed tasks. null: none is known. */
            failure: components["schemas"]["AttentionFailure"] | null;
            /** @enum {string} */
            kind: "overloaded" | "store_slow" | "shards_unowned" | "node_gone" | "node_silent" | "node_clock" | "endpoint_failing" | "endpoint_throttled" | "endpoint_paused" | "merchant_failing" | "merchant_paused" | "queue_late" | "queue_paused" | "source_stopped" | "tasks_failed" | "orders_unknown" | "amount_mismatch" | "late_payment" | "duplicate_payment" | "payment_without_order" | "poll_needs_action" | "bill_differs" | "bill_missing" | "credential_expires" | "notices_refused" | "follow_ups_refused" | "not_ready" | "store_full" | "alarm" | (string & {});
            /** @description Of one merchant or order; empty: it is about none, or about several. */
            merchant_no: string;
            /** @description There may be more of them. */
            more: boolean;
            /** @description What it is about: an endpoint, merchant, queue, node, store, source, credential, order or alarm; empty: the server as a whole. */
            name: string;
            /** @description Of queue_late: how long its oldest task is overdue. Of store_slow: how long a commit takes. Of node_clock: how far the clock is ahead, or with a minus sign behind. Otherwise empty. */
            off: string;
            order_no: string;
            /** @description Path of the console's page on which a person deals with it. */
            page: string;
            /** @description Empty: no queue, or several. */
            queue: string;
            /**
             * Format: double
             * @description Only of endpoint_throttled: attempts a second.
             */
            rate: number;
            /** @description Number of the refund or transfer. */
            ref_no: string;
            /**
             * Format: date-time
             * @description null: not known.
             */
            since: string | null;
            /** @description Id of the task of one order, refund or transfer, or of the one whose follow-up was refused last; empty: it is about none, or about several. */
            task: string;
            /**
             * Format: int32
             * @description Tasks, orders, differences or notices that are affected; 0: not known.
             */
            tasks: number;
            /** @description Why no task reports that alarm; empty: a task does. */
            untold: string;
            /** @description Money or tasks are stuck. Otherwise somebody chose it, or it will get worse. */
            urgent: boolean;
            /** @description Who paused it, or decided it; empty: nobody, or authentication is off. */
            who: string;
            /** @description Reason, in English; empty: the kind says it. */
            why: string;
        };
        AttentionAmount: {
            /**
             * Format: int64
             * @description In the currency's smallest unit.
             */
            amount: number;
            /** @description ISO 4217. */
            currency: string;
            /**
             * Format: int32
             * @description Orders, refunds or differences that it is the sum of.
             */
            orders: number;
        };
        AttentionFailure: {
            error: string;
            /** @description The first 200 bytes of the answer, with secrets masked. */
            response: string;
            /** @enum {string} */
            result: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown" | (string & {});
            /** Format: date-time */
            started: string;
            /**
             * Format: int32
             * @description HTTP status; 0: no answer.
             */
            status: number;
            task: string;
        };
        Attentions: {
            /** Format: date-time */
            at: string;
            /** @description What stops every task, then what affects most money, then most tasks. Amounts of different currencies are compared in main units. At most 100. While the database cannot be reached, not_ready is the only item. */
            items: components["schemas"]["Attention"][];
            /**
             * Format: int32
             * @description Items that are left out.
             */
            more: number;
            /**
             * Format: int32
             * @description Number of nodes that these figures cover.
             */
            nodes: number;
            /** @description Nodes that did not answer in time, whose figures are missing here. Empty: the figures cover all nodes. */
            silent: string[];
        };
        Audit: {
            action: string;
            /** Format: date-time */
            at: string;
            /** @description Fields that the action changed, such as a merchant's. Secrets show their last characters; values in a URL's query show a fingerprint. */
            changes?: components["schemas"]["Changed"][] | null;
            /** @description Network address of the caller: the one in X-Forwarded-For if a trusted proxy passed it on. Empty: unknown. */
            from: string;
            /** @description The bulk resend or batch of merchants to which the action belongs, as resend/ID or batch/ID; absent: none. */
            job?: string;
            reason: string;
            /** @description A task's id, or queue/NAME, endpoint/HOST, merchant/NUMBER, resend/ID, link/ID. */
            target: string;
            /** @description Name of the API key; empty if authentication is off. */
            who: string;
        };
        AuditPage: {
            audits: components["schemas"]["Audit"][];
            /** @description Cursor of the next page; empty only at the end. A page with few records, or none, may be followed by another. */
            next_cursor: string;
        };
        Backlog: {
            /** @description There are more. */
            more: boolean;
            /**
             * Format: date-time
             * @description Due time of the one among them that has waited longest; null: none is overdue.
             */
            oldest_overdue: string | null;
            /**
             * Format: int32
             * @description The newest 100 are counted.
             */
            pending: number;
        };
        Backup: {
            /** @description An absolute path on the server, of a directory that does not exist. */
            dir: string;
            /** @description Written to the audit record. */
            reason?: string;
        };
        Batch: {
            /** @description Dry run: nothing is created. A task that would be created has an id of zeros. A key that is in the batch twice exists for the second task, without an id. */
            dry_run?: boolean;
            tasks: components["schemas"]["CreateTask"][];
        };
        BatchResult: {
            error?: components["schemas"]["Problem"];
            /**
             * Format: int32
             * @description 201: created. 200: the key exists with the same content. Otherwise see error.
             */
            status: number;
            task?: components["schemas"]["Task"];
        };
        Batched: {
            results: components["schemas"]["BatchResult"][];
        };
        Because: {
            /** @description Written to the audit record. */
            reason?: string;
        };
        BillLine: {
            /** Format: int64 */
            amount: number;
            channel_order_no: string;
            currency: string;
            /**
             * Format: int32
             * @description Line in the file.
             */
            number: number;
            /** Format: int64 */
            refund_amount: number;
            refund_no: string;
            state: string;
            /**
             * Format: date-time
             * @description null: the bill does not say.
             */
            time: string | null;
            transaction_id: string;
        };
        BilledOrder: {
            /**
             * Format: int64
             * @description 0: not known.
             */
            amount: number;
            currency: string;
            merchant_no: string;
            order_no: string;
            /** Format: date-time */
            paid_at: string | null;
            /** @description Empty: it is an order. */
            refund_no: string;
            state: string;
            /** @description Id of the order's task; empty for a refund. */
            task: string;
            transaction_id: string;
        };
        BulkResend: {
            /** @description Dry run: only counts the tasks. */
            dry_run?: boolean;
            /** @description Selects the tasks; at least one field is required. */
            filter: components["schemas"]["Filter"];
            /**
             * @description As for one task; default once.
             * @enum {string}
             */
            mode?: "once" | "restart";
            /**
             * @description Rate in tasks per s, m or h; default 50/s.
             * @example 50/s
             */
            rate?: string;
            reason?: string;
        };
        Changed: {
            /** @description Empty: it has no value. */
            after: string;
            /** @description Empty: it had no value. */
            before: string;
            field: string;
        };
        CompleteTask: {
            /**
             * @description The answer. Required for an order: PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED; for a poll: DONE or FAILED_THERE. Without one for a notice that is held: a person has handled its payment.
             * @example PAID
             */
            outcome?: string;
            /** @description Default callback. */
            reason?: string;
            /** @description Order: an object with fields of the payment for the merchant's notification: transaction_id, amount (a whole number of the smallest unit), currency (ISO 4217), paid_at, and others. An order with an amount needs amount and currency here to become PAID. */
            taken?: unknown;
        };
        Counts: {
            /** Format: int64 */
            added: number;
            /** @description By result; results that did not occur are absent. */
            attempts: {
                [key: string]: number;
            };
            /** Format: int64 */
            failed: number;
            /** Format: int64 */
            succeeded: number;
        };
        CreateTask: {
            /** @description Order or poll: the registered account at the channel; default: the queue's own. */
            account?: string;
            /**
             * Format: int64
             * @description Order: what it costs, in the smallest unit of currency. A payment of another amount makes the order UNKNOWN, never PAID. Default: any amount is accepted.
             * @example 8800
             */
            amount?: number;
            /** @description Body of the request as text: at most 262,144 bytes of UTF-8 after unescaping the JSON; more is 413. Not together with json. */
            body?: string;
            /** @description Order or poll: the number by which the channel knows the order (out_trade_no). Of an order it is unique within its account; default: order_no. Of a refund the default is the number of the order that bellman knows under merchant_no and order_no in the same account, or else order_no. */
            channel_order_no?: string;
            /**
             * @description Order: how long after its creation the payer can use the code or page. If the channel did not know the order when it was closed, a late payment is polled for until then; default: the queue's.
             * @example 2h
             */
            code_life?: string;
            /**
             * @description Order: the ISO 4217 code of amount. Required with amount.
             * @example CNY
             */
            currency?: string;
            /**
             * @description Delay before the schedule begins, at most 3650d. 0s means now, whatever the queue's delay. A schedule whose first item is not 0s adds that item before the first attempt.
             * @example 15s
             */
            delay?: string;
            /**
             * Format: date-time
             * @description Start of the schedule. A schedule whose first item is not 0s adds that item before the first attempt. Not together with delay. Default: the queue's delay, or now.
             */
            due?: string;
            event?: string;
            /**
             * @description Order: how long after its creation the close protocol begins if nobody has paid; default: the queue's.
             * @example 30m
             */
            expires?: string;
            /**
             * Format: date-time
             * @description Order: when the close protocol begins if nobody has paid. Not together with expires.
             */
            expires_at?: string;
            /** @description At most 64, of 8,192 bytes each. */
            headers?: {
                [key: string]: string;
            };
            /** @description Body of the request as a JSON value, sent byte for byte as given: at most 262,144 bytes; more is 413. Sets Content-Type to application/json unless headers has one. Not together with body. */
            json?: unknown;
            /** @description The caller's idempotency key, unique within its queue, at most 255 bytes. The same key with other content is 409. Default for an order: merchant_no/order_no; for a poll: merchant_no/order_no/ref_no. */
            key?: string;
            /**
             * @description Age limit: if the next attempt would be due later after the schedule began, the task ends. An attempt that was due in time is made even if it is late, after downtime or a pause. A manual attempt is always made.
             * @example 24h
             */
            max_age?: string;
            merchant_no?: string;
            /** @description Default POST. */
            method?: string;
            /** @description Order or poll: the notification of the merchant about the result. */
            notify?: components["schemas"]["Notify"];
            /**
             * Format: date-time
             * @description Order: creation time at the channel. expires, code_life and the age from which the channel allows closing count from it. At most 31 days ago and a minute ahead, by the server's clock. Default: when bellman received the order.
             */
            order_created?: string;
            order_no?: string;
            /** @description Tasks of a queue with the same ordering key are attempted in the order of creation, each after the one before has ended. At most 255 bytes. Not together with repeat, and not for an order. */
            ordering_key?: string;
            /** @description The queue, whose rules hold for the task. */
            queue: string;
            /** @description Poll: the number of the refund, transfer or profit sharing at the channel. Default, if the queue requests the refund: the order's number at the channel and -R1; of a duplicate payment -D and a hash of its transaction_id. */
            ref_no?: string;
            /**
             * @description A duration, or cron and an expression: the task starts again after it has ended, until it is cancelled. The first round begins by due and delay, so now if neither is given, also with cron.
             * @example 10m
             */
            repeat?: string;
            /** @description State of the task in another system, from which the schedule goes on. Not together with due or delay, and not for an order. */
            resume?: components["schemas"]["Resume"];
            /**
             * @description Schedule: the name of a preset, or a text; default: the queue's.
             * @example 0s, 15s*2, 30s
             */
            schedule?: string;
            /**
             * @description Success rule: the name of a preset, or an expression; default: the queue's.
             * @example success_text
             */
            success?: string;
            /** @description Ends the earlier waiting tasks of its ordering key instead of waiting for them: they are cancelled with reason superseded and cannot be resent. */
            supersedes?: boolean;
            /**
             * @description Timeout of one attempt; default: the queue's.
             * @example 5s
             */
            timeout?: string;
            /** @description Destination of the request. Required unless the merchant or the queue has an address. */
            url?: string;
            /** @description Order or poll: values for the queue's templates, {vars.NAME}, or for its channel. At most 64, of 4,000 characters each; names of letters, digits and _. */
            vars?: {
                [key: string]: string;
            };
        };
        DecideOrder: {
            /**
             * @description The order's state.
             * @enum {string}
             */
            outcome: "PAID" | "PAID_REFUNDED" | "CLOSED" | "REVOKED" | "FAILED";
            /** @description How the outcome is known. It is in the audit record and in the alarm. */
            reason: string;
        };
        Decision: {
            /** @description Network address of the caller; absent: unknown. */
            from?: string;
            merchant_no: string;
            order_no: string;
            /** @description The reason, a colon and the outcome. */
            reason: string;
            /**
             * Format: uuid
             * @description The order's task.
             */
            task: string;
            /** @description Name of the API key; empty if authentication is off. */
            who: string;
        };
        Depth: {
            /** Format: int64 */
            cancelled: number;
            /** Format: int64 */
            failed: number;
            /** Format: int64 */
            pending: number;
            /** Format: int64 */
            succeeded: number;
        };
        Difference: {
            /** @description Whose bill it is, as the channel knows the account, such as wechatpay:1900000001. */
            account: string;
            /** @description null: the channel was not asked about the order since. */
            asked: components["schemas"]["AskedOfOrder"];
            /** @description null: the bill has no line. */
            bill: components["schemas"]["BillLine"];
            channel_order_no: string;
            /** @description The order was paid near midnight, and may be in the bill of the next or previous day. */
            edge: boolean;
            /** @description null: bellman has no order. */
            here: components["schemas"]["BilledOrder"];
            /** @enum {string} */
            kind: "missing_here" | "missing_there" | "amount" | "state" | "refund" | "duplicate" | (string & {});
            /** Format: int32 */
            number: number;
        };
        DifferencePage: {
            differences: components["schemas"]["Difference"][];
            /** @description Empty: there are no more. */
            next_cursor: string;
        };
        DifferencesByKind: {
            /**
             * Format: int32
             * @description Another amount or currency.
             */
            amount: number;
            /**
             * Format: int32
             * @description Another payment of an order than the one that is known, or a repeated line.
             */
            duplicate: number;
            /**
             * Format: int32
             * @description Payments or refunds of orders that bellman does not have.
             */
            missing_here: number;
            /**
             * Format: int32
             * @description Paid orders that the bill does not have.
             */
            missing_there: number;
            /**
             * Format: int32
             * @description Refunds on one side only, or with another amount or outcome.
             */
            refund: number;
            /**
             * Format: int32
             * @description Paid on one side only.
             */
            state: number;
        };
        Endpoint: {
            /** @enum {string} */
            breaker: "closed" | "open" | "half_open" | (string & {});
            /** @example https://merchant.example:443 */
            endpoint: string;
            /** Format: int32 */
            in_flight: number;
            /** @description null: no attempt within an hour, and none that failed within a day. */
            last_hour: components["schemas"]["Hour"] | null;
            /**
             * Format: int32
             * @description Present limit of attempts in flight; it adapts.
             */
            limit: number;
            /**
             * Format: date-time
             * @description Due time of the task that has waited longest; null: none waits.
             */
            oldest: string | null;
            /** @description null if it is not paused. */
            paused: components["schemas"]["Pause"] | null;
            /**
             * Format: double
             * @description Rate that the endpoint seems to allow, in attempts a second, after it asked for fewer; 0: it did not.
             */
            rate: number;
            /**
             * Format: double
             * @description Share of accepted latest attempts, 0 to 1; null before the first.
             */
            success_rate: number | null;
            /** Format: int32 */
            waiting: number;
        };
        Endpoints: {
            endpoints: components["schemas"]["Endpoint"][];
            /**
             * Format: int32
             * @description Number of nodes that these figures cover.
             */
            nodes: number;
            /** @description Nodes that did not answer in time, whose figures are missing here. Empty: the figures cover all nodes. */
            silent: string[];
        };
        Event: {
            /** @description The task was just created. */
            added: boolean;
            /** @description Trigger of the attempt; only in attempt events. */
            attempt?: components["schemas"]["Attempt"];
            /** @description The task now; last is the attempt of this event, or null. */
            task: components["schemas"]["Task"];
        };
        Fault: {
            /** @example body.schedule */
            location: string;
            message: string;
        };
        Filter: {
            /**
             * Format: date-time
             * @description Inclusive.
             */
            created_from?: string;
            /**
             * Format: date-time
             * @description Exclusive.
             */
            created_to?: string;
            event?: string;
            /**
             * Format: date-time
             * @description Ended at this time or later.
             */
            finished_from?: string;
            key?: string;
            /** @enum {string} */
            kind?: "notify" | "order" | "poll";
            merchant_no?: string;
            order_no?: string;
            queue?: string;
            /**
             * @description Result of the last attempt.
             * @enum {string}
             */
            result?: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown";
            /** @enum {string} */
            state?: "pending" | "succeeded" | "failed" | "cancelled";
            /**
             * Format: int32
             * @description HTTP status of the last attempt's answer.
             */
            status?: number;
            /** @description Host, or host:port, of the task's URL, in upper or lower case. */
            url_host?: string;
        };
        FormerKey: {
            /**
             * @description api_v3_key, alipay_public_keys or platform_keys.ID.
             * @example api_v3_key
             */
            field: string;
            /** @description Masked, or sealed:… until TIME in an export. */
            key: string;
        };
        HandIn: {
            /** @description The body exactly as the channel sent it. */
            body: string;
            /** @description The headers of the channel's request that its signature needs, such as Wechatpay-Signature. */
            headers?: {
                [key: string]: string;
            };
        };
        HandedIn: {
            notices: components["schemas"]["Notice"][];
        };
        Health: {
            /**
             * @description full: the store rejects new tasks; existing tasks go on.
             * @enum {string}
             */
            status: "ok" | "full" | (string & {});
        };
        Hour: {
            /** Format: int64 */
            attempts: number;
            /**
             * Format: date-time
             * @description First of the latest failures in a row; null: the last attempt was accepted.
             */
            failing_since: string | null;
            /** @description The last failed attempt, also before that hour; null: none is known. */
            last_failure: components["schemas"]["AttentionFailure"] | null;
            /**
             * Format: double
             * @description Share of them that were accepted, 0 to 1; null: there were none.
             */
            success_rate: number | null;
        };
        Intake: {
            /**
             * Format: int64
             * @description Live heap after the last garbage collection, in bytes.
             */
            heap_bytes: number;
            /**
             * Format: int64
             * @description High mark of heap_bytes: above it new tasks are rejected, until the heap is an eighth below; 0: no limit.
             */
            heap_high_bytes: number;
            /**
             * Format: int32
             * @description High mark of waiting: above it new tasks are rejected.
             */
            high: number;
            /**
             * Format: int32
             * @description Low mark of waiting: below it new tasks are accepted again.
             */
            low: number;
            open: boolean;
            /**
             * Format: int32
             * @description Tasks that are overdue or wait for a commit, without deferred tasks. The count stops once it is known to be above high.
             */
            waiting: number;
        };
        LastAttempt: {
            /** @description Action of an attempt of an order: query, close or reverse; of a poll: announce, request or query. */
            action?: string;
            error: string;
            /** Format: int32 */
            number: number;
            /** @description Order or poll: how the answer was read; see reading of an attempt. */
            reading?: string;
            /** @enum {string} */
            result: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown" | (string & {});
            /** Format: date-time */
            started: string;
            /**
             * Format: int32
             * @description HTTP status; 0: no answer.
             */
            status: number;
            /**
             * @description Trigger of the attempt.
             * @enum {string}
             */
            trigger: "schedule" | "manual" | "settle" | "takeover" | (string & {});
        };
        Link: {
            /** Format: date-time */
            expires: string;
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            made: string;
            merchant_no: string;
            order_no?: string;
            /** @description Path of the link on this server, only in the answer that makes it. Whoever has the link sees what it shows. */
            path?: string;
            reason: string;
            /**
             * Format: date-time
             * @description null if it is not revoked.
             */
            revoked: string | null;
            /** @description The full address, if the configuration has a public_url. */
            url?: string;
            /** @description Why the link may be a mistake: the merchant or order is unknown. The link is made all the same. */
            warning?: string;
            who: string;
        };
        Links: {
            links: components["schemas"]["Link"][];
        };
        ListedOrder: {
            /** @description Name of the registered account that the order has. */
            account?: string;
            /**
             * Format: int64
             * @description Expected amount in the smallest unit of its currency; absent if it is unknown.
             */
            amount?: number;
            /** @description Poll: what the channel said about the refund, transfer or profit sharing when it was decided; absent: nothing. */
            at_channel?: components["schemas"]["AtChannel"];
            /**
             * Format: int32
             * @description Attempts so far, with any trigger.
             */
            attempts: number;
            /** @description Channel of the order, such as wechatpay; absent for a gateway of your own. */
            channel?: string;
            /** Format: date-time */
            created: string;
            /** @description Name of the API key that created the task; absent for follow-up tasks and tasks from a broker. */
            created_by?: string;
            /** @description Of the amount: ISO 4217. */
            currency?: string;
            /**
             * Format: date-time
             * @description Earliest time of the next attempt; null when it ended.
             */
            due: string | null;
            event: string;
            /**
             * Format: date-time
             * @description null while it is pending.
             */
            finished: string | null;
            /** Format: uuid */
            id: string;
            key: string;
            /** @description Kind of the queue's tasks: notify, order or poll. */
            kind: string;
            /** @description The newest attempt; null before the first. */
            last: components["schemas"]["LastAttempt"];
            /**
             * @description Order: a payment after the order was decided otherwise, as the channel reports it. The decided state stays.
             * @enum {string}
             */
            late_payment?: "PAID" | "PAID_REFUNDED" | (string & {});
            max_age?: string;
            /**
             * Format: int32
             * @description Number of attempts that the schedule allows; null if it has no end, and for an order or poll, which is polled until it is decided.
             */
            max_attempts: number | null;
            merchant_no: string;
            /** @description Empty for an order or poll. */
            method: string;
            order_no: string;
            /**
             * @description Order: its state. UNKNOWN: the channel never decided it, and an alert was sent.
             * @enum {string}
             */
            order_state?: "PENDING" | "PAID" | "PAID_REFUNDED" | "CLOSED" | "REVOKED" | "FAILED" | "UNKNOWN" | (string & {});
            /** @description It is attempted after the earlier tasks of its queue with the same ordering key. */
            ordering_key?: string;
            /** @description Order: the payment that decided it, or came late; absent: none is known. */
            payment?: components["schemas"]["Payment"];
            /**
             * @description Poll: its state. DONE: the money arrived. FAILED_THERE: the channel ended it without success. UNKNOWN: the task was cancelled before.
             * @enum {string}
             */
            poll_state?: "PENDING" | "DONE" | "FAILED_THERE" | "UNKNOWN" | (string & {});
            queue: string;
            /** @description Why it ended: accepted, attempts_used_up, max_age, gave_up, callback, superseded, …; empty while it is pending. */
            reason: string;
            /** @description Poll: the number of the refund, transfer or profit sharing at the channel. */
            ref_no?: string;
            repeat?: string;
            schedule: string;
            /** @enum {string} */
            state: "pending" | "succeeded" | "failed" | "cancelled" | (string & {});
            /**
             * Format: int32
             * @description Attempts that count for the schedule since it began. Manual attempts do not count, and neither does the attempt that ended the task.
             */
            step: number;
            success?: string;
            /** @description It ends waiting tasks of its ordering key instead of waiting for them. */
            supersedes?: boolean;
            timeout?: string;
            /** Format: date-time */
            updated: string;
            url: string;
        };
        MakeLink: {
            /**
             * @description Lifetime of the link, 1h to 30d; default 24h.
             * @example 24h
             */
            life?: string;
            merchant_no: string;
            /** @description Shows only the notices of this order; default: all of the merchant's. */
            order_no?: string;
            /** @description Written to the audit record. */
            reason: string;
        };
        Merchant: {
            /** @description Notifications that have not ended; absent in an export, and if a list had no time to count them. */
            backlog?: components["schemas"]["Backlog"];
            /** Format: date-time */
            created: string;
            /** @description true if none of the newest attempts of its newest tasks was accepted, of three or more within a day; otherwise absent. */
            failing?: boolean;
            /** @description Attempts of notifications of the last hour; absent: none is known. */
            last_hour?: components["schemas"]["Hour"];
            merchant_no: string;
            name: string;
            notify_url: string;
            /** @description Absent unless it is paused. */
            paused?: components["schemas"]["Pause"];
            per_endpoint: components["schemas"]["MerchantLimits"];
            /** @description Why nothing can be sent to this merchant now: a master key is missing, or the secrets cannot be opened. */
            problem?: string;
            schedule: string;
            /** @description Default: the queue's signature. */
            sign?: components["schemas"]["ShownMerchantSign"];
            success: string;
            timeout: string;
            /** Format: date-time */
            updated: string;
            /** @description Changes with each change of the merchant. A PUT with this version changes the merchant only if nobody else has changed it. */
            version: string;
        };
        MerchantBatch: {
            /** @description Dry run: nothing is changed. */
            dry_run?: boolean;
            merchants: components["schemas"]["PutMerchant"][];
            reason?: string;
        };
        MerchantBatched: {
            results: components["schemas"]["MerchantResult"][];
        };
        MerchantCount: {
            merchant_no: string;
            /** Format: int32 */
            tasks: number;
        };
        MerchantKey: {
            /** Format: date-time */
            added: string;
            /** @description Empty if the secret is so short that this would reveal too much of it. */
            last_four: string;
            /** @description Id of the master key that seals it. */
            master_key: string;
            /**
             * Format: date-time
             * @description End of its use for signing; null: no end.
             */
            until: string | null;
        };
        MerchantLimits: {
            /**
             * Format: int32
             * @description Most attempts in flight; default: the queue's.
             */
            concurrency?: number;
            /**
             * @description Most attempts per s, m or h, from 1/h to 1000000/s; default: the queue's.
             * @example 50/s
             */
            rate?: string;
        };
        MerchantPage: {
            merchants: components["schemas"]["Merchant"][];
            /** @description Cursor of the next page; empty only at the end. */
            next_cursor: string;
        };
        MerchantReseal: {
            /**
             * Format: int32
             * @description Merchants and accounts.
             */
            examined: number;
            first_error?: string;
            /**
             * Format: int32
             * @description Those whose secrets are under the newest master key now.
             */
            resealed: number;
            /**
             * Format: int32
             * @description Those whose secrets cannot be opened; they stay unchanged.
             */
            unreadable: number;
        };
        MerchantResult: {
            error?: components["schemas"]["Problem"];
            merchant_no: string;
            /**
             * Format: int32
             * @description 201: created. 200: changed. 204: unchanged. Otherwise see error.
             */
            status: number;
        };
        MerchantSign: {
            /** @description Only for t_v1: the header with the signature; default Stripe-Signature. */
            header?: string;
            /**
             * @description Only for md5_key: what is signed, as NAME=VALUE with blanks between them. Names: preset (jeepay, roncoo), name, order (sorted, ignore_case, given), key, case (upper, lower), empty (skip, skip_blank, keep), fields.
             * @example order=given key=none case=lower
             */
            params?: string;
            /** @enum {string} */
            scheme: "standard_webhooks" | "wechat_rsa" | "md5_params" | "hmac_sha256_params" | "jeepay_md5" | "roncoo_md5" | "md5_key" | "rsa2" | "t_v1";
            /** @description Signing secrets, the newest first. They are never returned: answers show three stars and the last four characters. Default: the secrets stay. A secret written as an answer shows it (***abcd) stays; sealed:… comes from an export. */
            secrets?: string[] | null;
            /** @description Only for wechat_rsa: the serial number of the key. */
            serial?: string;
        };
        MerchantStats: {
            /** Format: int32 */
            cancelled: number;
            /** Format: int32 */
            failed: number;
            /** @description As for the merchant. */
            failing: boolean;
            /** @description The ten newest tasks that failed, or whose newest attempt failed. */
            last_failed: components["schemas"]["Task"][];
            merchant_no: string;
            /** @description There are older tasks, which are not counted. */
            more: boolean;
            /**
             * Format: date-time
             * @description Due time of the task that has waited longest.
             */
            oldest_overdue: string | null;
            /**
             * Format: int32
             * @description Pending tasks.
             */
            overdue: number;
            /** Format: int32 */
            pending: number;
            /**
             * Format: double
             * @description Share of accepted newest attempts, 0 to 1, among the newest 20 tasks that were attempted within a day; null: none was attempted.
             */
            recent_success_rate: number | null;
            /** @description Number of each result among the newest attempts of the tasks. */
            results: {
                [key: string]: number;
            };
            /**
             * Format: int32
             * @description Pending tasks that were attempted before.
             */
            retrying: number;
            /**
             * Format: date-time
             * @description Creation time of the oldest of these tasks.
             */
            since: string | null;
            /** Format: int32 */
            succeeded: number;
            /**
             * Format: double
             * @description Share of success among the attempts that succeeded or failed, 0 to 1; null: none did.
             */
            success_rate: number | null;
            /**
             * Format: int32
             * @description Number of newest tasks that were examined, at most 1,000, without orders.
             */
            tasks: number;
        };
        Node: {
            /** @description Address of its API; may be empty. */
            addr: string;
            /** @description The node is alive. Other nodes may claim the shards of a node that is not. */
            alive: boolean;
            /**
             * Format: date-time
             * @description Time of the last heartbeat, by the store's clock.
             */
            beat: string;
            /** Format: date-time */
            joined: string;
            /** @description Changes at each start, and after an absence in which other nodes claimed its shards. */
            name: string;
            /** @description The node that answers this request. */
            self: boolean;
            shards: components["schemas"]["Shard"][];
            version: string;
        };
        Nodes: {
            nodes: components["schemas"]["Node"][];
            /** @description Shards without an owner: their tasks are not attempted until a node claims them. */
            unowned: components["schemas"]["Shard"][];
        };
        Notice: {
            /** @description The account at the channel. */
            account?: string;
            /** Format: date-time */
            came?: string;
            /** @description The order's number at the channel. */
            channel_order_no?: string;
            /** @description The verified and decrypted content, for the roles operate and admin. */
            content?: string;
            /** @description Empty while the order does not exist, and if the notice is about none here. */
            merchant_no?: string;
            /**
             * @description What the notice is about.
             * @enum {string}
             */
            of?: "payment" | "refund" | "transfer" | (string & {});
            order_no?: string;
            queue: string;
            /** @description The number of the refund or transfer. */
            ref_no?: string;
            /**
             * @description applied: it decided, or said something new. duplicate: it said what was known. held: it came before its order, and is kept for 24 hours. mismatch: of another amount than the order's. refused: not the channel's, unreadable, or without the amount of an order that has one; it decides nothing, and may cause a query of the order that it names.
             * @enum {string}
             */
            result: "applied" | "duplicate" | "held" | "mismatch" | "refused" | (string & {});
            /** @description What it says of a payment: PAID, CLOSED, …; of a refund or transfer: DONE or FAILED_THERE, if it says so. */
            state?: string;
            /**
             * Format: uuid
             * @description The task that keeps the notice.
             */
            task?: string;
            /** @description Why it was refused, or which amount differs. */
            why?: string;
        };
        Notices: {
            /** @description Where the next page begins; empty: this is the last. */
            next_cursor?: string;
            notices: components["schemas"]["Notice"][];
        };
        Notify: {
            /** @description An object with fields of the notification. order_no, the state and the queue's fields of the channel's answer are added. */
            json?: unknown;
            /** @description Destination of the notification; default: the address of the merchant, or else the url of the notify queue. */
            url?: string;
        };
        Order: {
            /** @description Name of the registered account that the order has. */
            account?: string;
            /**
             * Format: int64
             * @description Expected amount in the smallest unit of its currency; absent if it is unknown.
             */
            amount?: number;
            /** @description Attempts of these tasks by start time: the newest 200 of each task, the newest 1,000 in all. */
            attempts: components["schemas"]["OrderAttempt"][];
            /** @description The number by which the channel knows the order. With several orders, this number, account, amount and currency are those of the order that order_state is about. */
            channel_order_no?: string;
            /** @description Of the amount: ISO 4217. */
            currency?: string;
            /**
             * @description A payment after the order was decided otherwise, as the channel reports it. The decided state stays.
             * @enum {string}
             */
            late_payment?: "PAID" | "PAID_REFUNDED" | (string & {});
            merchant_no: string;
            /** @description There are more tasks or attempts than shown. Each task's own page shows all of its attempts. */
            more: boolean;
            order_no: string;
            /** @description PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN; empty if none of the tasks is an order. With several orders: a paid state if one is paid, otherwise PENDING if one is pending, otherwise the state of the newest. */
            order_state: string;
            /** @description The payment that decided the order, or came late; absent: none is known. With reason amount_mismatch: the payment of another amount. */
            payment?: components["schemas"]["Payment"];
            /** @description Only with settle. true: every attempt that was overdue was made and recorded. false: the wait ended first, so the state may be outdated. */
            settled?: boolean;
            /** @description All tasks with these numbers, in any queue, by creation time: the newest 200. */
            tasks: components["schemas"]["Task"][];
        };
        OrderAttempt: {
            /** @description The action of the attempt, if tasks of the queue have several: query, close, … */
            action?: string;
            /** Format: date-time */
            due: string;
            error: string;
            /**
             * Format: int64
             * @description Started minus due, never negative.
             */
            lateness_ms: number;
            node: string;
            /**
             * Format: int32
             * @description 1 for the first.
             */
            number: number;
            queue: string;
            /** @description How the answer was read. Order, query: PENDING, NOT_FOUND, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED, or QUERY_ERROR if the answer says nothing about the order or is missing. Close or reverse: closed, already_closed, paid_hint, in_flight, not_exist, unknown; refunded: reversed after it was paid. Poll: PENDING, NOT_FOUND, DONE, FAILED_THERE or QUERY_ERROR; of a request: accepted, refused or unknown. */
            reading?: string;
            /** @description The answer, cut at 600 characters. */
            response: string;
            /** @description The header of an answer that was not accepted, 1,024 characters in all. Fields that may hold credentials, such as Set-Cookie, are never kept. *** stands for a value that is masked. */
            response_headers?: {
                [key: string]: string;
            };
            /** @enum {string} */
            result: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown" | (string & {});
            /** @description Only if the attempt was asked for by its number. */
            sent?: components["schemas"]["Sent"];
            /** Format: date-time */
            started: string;
            /**
             * Format: int32
             * @description HTTP status; 0: no answer.
             */
            status: number;
            /** Format: uuid */
            task: string;
            /** @description Parts of took_ms; absent if none was measured, as for requests to a channel. */
            timing?: components["schemas"]["Timing"];
            /**
             * Format: int64
             * @description From the start to the last byte, or to the timeout.
             */
            took_ms: number;
            /**
             * @description Trigger of the attempt.
             * @enum {string}
             */
            trigger: "schedule" | "manual" | "settle" | "takeover" | (string & {});
        };
        OrderPage: {
            /** @description Cursor of the next page; empty only at the end. A page with few orders, or none, may be followed by another. */
            next_cursor: string;
            orders: components["schemas"]["ListedOrder"][];
        };
        OrderRef: {
            merchant_no: string;
            order_no: string;
        };
        Pause: {
            /** Format: date-time */
            at: string;
            reason: string;
            who: string;
        };
        Paused: {
            /** @description The queue, or the endpoints of the host. After a resume: only those that were paused. */
            names: string[];
        };
        Payment: {
            /**
             * Format: int64
             * @description In the smallest unit of its currency.
             */
            amount?: number;
            /** @description ISO 4217. */
            currency?: string;
            /** Format: date-time */
            paid_at?: string;
            /** @description The channel's number of the payment. */
            transaction_id?: string;
        };
        PerEndpoint: {
            /** Format: int32 */
            concurrency: number;
            /**
             * Format: double
             * @description Most attempts a second; 0: no limit.
             */
            rate: number;
        };
        Percentiles: {
            /** Format: int64 */
            count: number;
            /** Format: double */
            max_ms: number;
            /** Format: double */
            p50_ms: number;
            /** Format: double */
            p90_ms: number;
            /** Format: double */
            p99_ms: number;
        };
        Problem: {
            detail?: string;
            /** @description Every wrong field. */
            errors?: components["schemas"]["Fault"][];
            /** @description The task that the problem is about: the one that has the key. */
            instance?: string;
            /** Format: int32 */
            status: number;
            title: string;
            /** @description Absent: about:blank; the status says everything. */
            type?: string;
        };
        PutAccount: {
            account?: string;
            /** @description alipay: the public keys or certificates that verify answers. All of them, or none to leave them. */
            alipay_public_keys?: string[] | null;
            /** @description wechatpay: decrypts notices; without it none can be read. */
            api_v3_key?: string;
            /** @description alipay: of a merchant that authorised another one's application. */
            app_auth_token?: string;
            /** @description alipay: of an application with certificates. */
            app_certificate?: string;
            /** @description The application. Required for alipay, where it cannot be changed. */
            app_id?: string;
            /** @description wechatpay: the merchant's certificate. It says serial and when it expires. */
            certificate?: string;
            /**
             * @description It cannot be changed.
             * @enum {string}
             */
            channel: "wechatpay" | "alipay";
            /** @description Keys that a rotation replaced, and that stay valid for a while, as an export has them. Default: they stay. */
            former?: components["schemas"]["FormerKey"][] | null;
            /**
             * @description wechatpay: the number of the merchant, or of the service provider. It cannot be changed.
             * @example 1900000001
             */
            mch_id?: string;
            /** @description A name for people. The search matches its beginning. */
            name?: string;
            /** @description wechatpay: the public keys and certificates that verify answers, by their ids. All of them, or none to leave them. {"certificates": "fetch"}: the certificates are fetched from WeChat Pay and renewed. */
            platform_keys?: {
                [key: string]: string;
            };
            /** @description The merchant's or the application's private key, which signs requests. */
            private_key?: string;
            /**
             * @description Most requests per s, m or h, from 1/h to 1000000/s. All accounts of one mch_id, or of one app_id of alipay, share the smallest of their rates. Default: no limit but the queue's.
             * @example 300/s
             */
            rate?: string;
            /** @description Written to the audit record. */
            reason?: string;
            /** @description alipay: of an application with certificates. */
            root_certificates?: string;
            /** @description alipay: whose notices are read; default: those of every seller of the application. With app_auth_token it is required, and cannot be changed. */
            seller_id?: string;
            /** @description wechatpay: the serial number of the merchant's certificate. */
            serial?: string;
            /** @description wechatpay: the sub-merchant of a service provider. It cannot be changed. */
            sub_mch_id?: string;
            /**
             * @description The provider's address; default: the usual one.
             * @example https://openapi-sandbox.dl.alipaydev.com/gateway.do
             */
            url?: string;
            /**
             * @description The version of an earlier answer: if the account has another version now, the answer is 409 and nothing changes. none: the account must not exist. Default: no check.
             * @example b5bb9d8014a0f9b1
             */
            version?: string;
        };
        PutMerchant: {
            merchant_no?: string;
            /** @description A name for people. The search matches its beginning. */
            name?: string;
            /**
             * @description Destination of tasks that name this merchant and no url. It is looked up at each attempt.
             * @example https://merchant.example/notify
             */
            notify_url?: string;
            /** @description Limits of the merchant's endpoint. If several merchants share an endpoint, the strictest limit holds. */
            per_endpoint?: components["schemas"]["MerchantLimits"];
            /** @description Written to the audit record. In a batch, the reason of the batch is written instead. */
            reason?: string;
            /**
             * @description Schedule for tasks without one: the name of a preset, or a text. It is looked up after each attempt, so a change also holds for existing tasks.
             * @example 0s, 15s*2, 30s
             */
            schedule?: string;
            /** @description Signature of requests to the merchant. It is looked up at each attempt. Default: the queue's. */
            sign?: components["schemas"]["MerchantSign"];
            /**
             * @description Success rule for tasks without one: the name of a preset, or an expression. It is looked up at each attempt.
             * @example success_text
             */
            success?: string;
            /**
             * @description Timeout of one attempt, 1ms to 10m, for tasks without one. It is looked up at each attempt.
             * @example 5s
             */
            timeout?: string;
            /**
             * @description The version of an earlier answer: if the merchant has another version now, the answer is 409 and nothing changes. none: the merchant must not exist. Default: no check.
             * @example b5bb9d8014a0f9b1
             */
            version?: string;
        };
        Queue: {
            /**
             * Format: int32
             * @description Most attempts in flight; 0: no limit of its own.
             */
            concurrency: number;
            /** @description Delay of tasks without delay and due; empty: none. */
            delay: string;
            depth: components["schemas"]["Depth"];
            /**
             * Format: int32
             * @description Waiting tasks that a pause or a breaker holds. They are not overdue.
             */
            held: number;
            /** Format: int32 */
            in_flight: number;
            kind: string;
            last_minute: components["schemas"]["Counts"];
            /** @description Empty: only the schedule decides. */
            max_age: string;
            name: string;
            /**
             * Format: date-time
             * @description Due time of the overdue task that has waited longest and is not held; null: none is overdue.
             */
            oldest_overdue: string | null;
            /** @description null if it is not paused. */
            paused: components["schemas"]["Pause"] | null;
            per_endpoint: components["schemas"]["PerEndpoint"];
            /**
             * Format: double
             * @description Most attempts a second; 0: no limit of its own.
             */
            rate: number;
            schedule: string;
            success: string;
            timeout: string;
            /**
             * Format: int32
             * @description Due tasks in memory.
             */
            waiting: number;
        };
        Queues: {
            intake: components["schemas"]["Intake"];
            /**
             * Format: int32
             * @description Number of nodes that these figures cover.
             */
            nodes: number;
            queues: components["schemas"]["Queue"][];
            /** @description Nodes that did not answer in time, whose figures are missing here. Empty: the figures cover all nodes. */
            silent: string[];
        };
        Reconciliation: {
            /** @description The registered account that was asked for; empty: all accounts of the queue, or for a file that of orders that name none. */
            account: string;
            /** @enum {string} */
            bill: "trade" | "fund_flow" | (string & {});
            /**
             * Format: int32
             * @description Accounts whose bill was compared.
             */
            bills: number;
            /**
             * Format: int32
             * @description Orders and refunds that were compared.
             */
            compared: number;
            /**
             * Format: date-time
             * @description Time of the newest request.
             */
            created: string;
            /** @description The queue's daily job started it. */
            daily: boolean;
            date: string;
            /**
             * Format: int32
             * @description Orders and refunds of the last hour that the bill lacks. The comparison of the next day looks for them in both bills.
             */
            deferred: number;
            differences: components["schemas"]["DifferencesByKind"];
            /**
             * Format: int32
             * @description Differences near midnight, whose orders may be in the bill of the next or previous day.
             */
            edge: number;
            /** @description Error of the last try. */
            error?: string;
            /**
             * Format: date-time
             * @description Time of the newest result; null: there is none.
             */
            finished: string | null;
            /** @description The same for the same queue, account, bill, date and source: a new request replaces the result. */
            id: string;
            /**
             * Format: int32
             * @description Differences that can be read, at most 100000. The numbers above are exact beyond that.
             */
            kept: number;
            /** @description Accounts with orders that are not compared, and why. The result is without these orders. */
            left: components["schemas"]["AccountLeft"][];
            /**
             * Format: int32
             * @description Lines of the bill that agree with bellman.
             */
            matched: number;
            /**
             * Format: date-time
             * @description When the bill is asked for again; null: it is not.
             */
            next: string | null;
            no_refunds: boolean;
            /**
             * Format: int32
             * @description Lines of other merchants in the bill, such as a service provider's other sub-merchants. They were left out.
             */
            others: number;
            /**
             * Format: int32
             * @description Payments in the bill.
             */
            payments: number;
            queue: string;
            reason: string;
            /**
             * Format: int32
             * @description Refunds in the bill.
             */
            refunds: number;
            /** @description null: nobody has requested that the channel is asked about each difference. */
            settling: components["schemas"]["Settling"];
            /** @enum {string} */
            source: "channel" | "file" | (string & {});
            /**
             * @description waiting: for its turn, or for the bill. failed: a bill could not be had, or orders could not be compared.
             * @enum {string}
             */
            state: "waiting" | "running" | "done" | "failed" | (string & {});
            /**
             * Format: int32
             * @description Number of differences.
             */
            total: number;
            /**
             * Format: int32
             * @description Failed tries since created.
             */
            tries: number;
            who: string;
        };
        Reconciliations: {
            reconciliations: components["schemas"]["Reconciliation"][];
        };
        Request: {
            /** @description Order or poll: the account at the channel; absent: the queue's own. */
            account?: string;
            /**
             * Format: int64
             * @description Order: what it costs, in the smallest unit of currency.
             */
            amount?: number;
            body: string;
            /** @description Order: the number by which the channel knows it. */
            channel_order_no?: string;
            /** @description Order: as requested. */
            code_life?: string;
            /** @description Order: the ISO 4217 code of amount. */
            currency?: string;
            /** @description Order: as requested, or until expires_at. */
            expires?: string;
            /** @description The sent headers. *** replaces all values, except those of headers that are known to carry no credentials, such as Content-Type. */
            headers: {
                [key: string]: string;
            };
            method: string;
            /** @description Order or poll: as requested. */
            notify?: components["schemas"]["Notify"];
            /**
             * Format: date-time
             * @description Order: as given, or when bellman received the order.
             */
            order_created?: string;
            url: string;
            /** @description Order or poll: as requested. */
            vars?: {
                [key: string]: string;
            };
        };
        RescheduleTask: {
            /**
             * @description From now, at most 3650d.
             * @example 15m
             */
            delay?: string;
            /** Format: date-time */
            due?: string;
            reason?: string;
        };
        Resend: {
            /** Format: date-time */
            created: string;
            /**
             * Format: int64
             * @description Tasks that matched so far: the sum of the next three.
             */
            examined: number;
            /**
             * Format: int64
             * @description Tasks that could not be resent.
             */
            failed: number;
            filter: components["schemas"]["Filter"];
            /**
             * Format: date-time
             * @description null while it is running.
             */
            finished: string | null;
            /** Format: uuid */
            id: string;
            last_error?: string;
            /** @enum {string} */
            mode: "once" | "restart" | (string & {});
            /** @description There are more than total, because the count is bounded. */
            more: boolean;
            rate: string;
            reason: string;
            /** Format: int64 */
            resent: number;
            /**
             * Format: int64
             * @description Tasks that were gone, superseded, or did not match the filter any more when their turn came.
             */
            skipped: number;
            /** @enum {string} */
            state: "running" | "done" | "cancelled" | (string & {});
            /**
             * Format: int64
             * @description Tasks that matched at the start; 0: not counted yet.
             */
            total: number;
            /** Format: date-time */
            updated: string;
            who: string;
        };
        ResendCount: {
            /**
             * Format: int32
             * @description Number of distinct merchants of the tasks; no merchant counts as one.
             */
            merchants: number;
            /** @description There are more than counted. */
            more: boolean;
            /** Format: date-time */
            newest: string | null;
            /** Format: date-time */
            oldest: string | null;
            /** Format: int32 */
            tasks: number;
            /** @description The merchants with the most tasks, ten at most. */
            top: components["schemas"]["MerchantCount"][];
        };
        ResendTask: {
            /**
             * @description once (default): one attempt now; the schedule does not change. restart: the schedule starts again now.
             * @enum {string}
             */
            mode?: "once" | "restart";
            reason?: string;
        };
        Resends: {
            resends: components["schemas"]["Resend"][];
        };
        Resume: {
            /**
             * Format: int32
             * @description Number of attempts.
             */
            attempts: number;
            /**
             * Format: date-time
             * @description When the first attempt was due, for a schedule with an age or with offsets; default: last.
             */
            began?: string;
            /**
             * Format: date-time
             * @description When the last of these attempts began.
             */
            last: string;
        };
        RotateAccount: {
            /** @description alipay: the public keys or certificates that verify answers. All of them, or none to leave them. */
            alipay_public_keys?: string[] | null;
            /** @description wechatpay: decrypts notices; without it none can be read. */
            api_v3_key?: string;
            /** @description alipay: of a merchant that authorised another one's application. */
            app_auth_token?: string;
            /** @description alipay: of an application with certificates. */
            app_certificate?: string;
            /** @description wechatpay: the merchant's certificate. It says serial and when it expires. */
            certificate?: string;
            /**
             * @description How long the former keys stay valid, at most 90d; default 24h.
             * @example 24h
             */
            overlap?: string;
            /** @description wechatpay: the public keys and certificates that verify answers, by their ids. All of them, or none to leave them. {"certificates": "fetch"}: the certificates are fetched from WeChat Pay and renewed. */
            platform_keys?: {
                [key: string]: string;
            };
            /** @description The merchant's or the application's private key, which signs requests. */
            private_key?: string;
            reason?: string;
            /** @description alipay: of an application with certificates. */
            root_certificates?: string;
            /** @description wechatpay: of the certificate that belongs to the new private_key. */
            serial?: string;
        };
        RotateMerchant: {
            /**
             * @description How long the present secrets go on signing, at most 90d; default 24h. standard_webhooks and t_v1 send all signatures in one header; the other schemes send one, of the newest secret at once.
             * @example 24h
             */
            overlap?: string;
            reason?: string;
            /** @description The new key itself. */
            secret: string;
        };
        Sent: {
            /** @description The answers that the rule accepts, in words; absent: the rule is an expression. */
            accepts?: string;
            body?: string;
            /** @description Those of the signature have the value ***, because signatures are not kept. */
            headers?: {
                [key: string]: string;
            };
            /** @description Absent: a message to a broker. */
            method?: string;
            /** @description Why the request cannot be built again; then the other fields are absent. */
            missing?: string;
            /** @description The scheme of the signature; absent: the request is not signed. */
            sign_scheme?: string;
            /** @description The text that is signed. *** stands for the secret, and NONCE for a random part. Its time is the second in which the attempt started; the attempt may have signed in the next. */
            signed?: string;
            /** @description The rule that judges the answer. */
            success?: string;
            url?: string;
        };
        SettleOrders: {
            orders: components["schemas"]["OrderRef"][];
            /** @description Written to the audit record of each order. */
            reason?: string;
            /**
             * @description Longest wait for the channel's answers, at most 60s; default 10s.
             * @example 10s
             */
            wait?: string;
        };
        SettledOrder: {
            /** @description The channel was queried, and the result is recorded. */
            asked: boolean;
            error?: components["schemas"]["Problem"];
            /** @description The newest attempt. */
            last?: components["schemas"]["LastAttempt"];
            /** @enum {string} */
            late_payment?: "PAID" | "PAID_REFUNDED" | (string & {});
            merchant_no: string;
            order_no: string;
            /** @enum {string} */
            order_state?: "PENDING" | "PAID" | "PAID_REFUNDED" | "CLOSED" | "REVOKED" | "FAILED" | "UNKNOWN" | (string & {});
            /**
             * Format: int32
             * @description 200: the channel was queried; this is the present state. 202: the answer is still to come; this is the state before. 404: the order is unknown. Otherwise see error.
             */
            status: number;
            /**
             * Format: uuid
             * @description Task of the order.
             */
            task?: string;
        };
        SettledOrders: {
            results: components["schemas"]["SettledOrder"][];
        };
        Settling: {
            /**
             * Format: int32
             * @description Orders that the channel was asked about.
             */
            asked: number;
            /** Format: date-time */
            created: string;
            /**
             * Format: int32
             * @description Orders without a usable answer.
             */
            failed: number;
            /** Format: date-time */
            finished: string | null;
            reason: string;
            /**
             * Format: int32
             * @description Differences that are none any more.
             */
            settled: number;
            /** @enum {string} */
            state: "running" | "done" | (string & {});
            who: string;
        };
        Shard: {
            /**
             * Format: int64
             * @description Grows with each new owner.
             */
            epoch: number;
            /** Format: int32 */
            shard: number;
        };
        ShownMerchantSign: {
            header?: string;
            /** @description The same with their times. */
            keys: components["schemas"]["MerchantKey"][];
            params?: string;
            scheme: string;
            /** @description Signing secrets, the newest first: three stars and the last four characters. In an export, sealed:…. */
            secrets: string[];
            serial?: string;
        };
        Source: {
            /**
             * Format: int64
             * @description Messages that are no valid task, and went to the dead letters.
             */
            dead: number;
            /**
             * Format: int64
             * @description Messages whose task existed already.
             */
            existing: number;
            /**
             * Format: int64
             * @description How often the broker could not be reached, or the connection broke.
             */
            failures: number;
            /**
             * Format: int32
             * @description Messages that were received and not yet confirmed to the broker.
             */
            in_hand: number;
            /** @description The default queue. */
            into: string;
            /** @description The latest error; empty: none. */
            last_error: string;
            /** Format: date-time */
            last_error_at: string | null;
            /**
             * @description CONNECTION/QUEUE, or CONNECTION/STREAM/DURABLE.
             * @example main/order.paid
             */
            name: string;
            /**
             * Format: date-time
             * @description When the state began.
             */
            since: string;
            /**
             * @description paused: intake is closed, and messages stay with the broker.
             * @enum {string}
             */
            state: "connecting" | "consuming" | "paused" | "stopped" | (string & {});
            /**
             * Format: int64
             * @description Messages that became tasks.
             */
            stored: number;
            /** @description Why the source is paused, or the error of connecting. */
            why: string;
        };
        Sources: {
            intake: components["schemas"]["Intake"];
            sources: components["schemas"]["Source"][];
        };
        StartReconciliation: {
            /** @description A registered account; default: the queue's own and every registered account that its orders name. */
            account?: string;
            /**
             * @description trade (the default): the bill of payments and refunds. fund_flow: WeChat Pay's bill of what reached and left the account; amounts that are smaller than the order's agree, because a coupon may have been taken off.
             * @enum {string}
             */
            bill?: "trade" | "fund_flow";
            /** @description Day of the bill in UTC+8, such as 2026-11-21. The day must be over there. */
            date: string;
            /** @description Refunds are not compared. */
            no_refunds?: boolean;
            /** @description A queue of kind order whose channel is wechatpay or alipay. */
            queue: string;
            /** @description Written to the audit record. */
            reason?: string;
        };
        Stats: {
            counts: components["schemas"]["Counts"];
            /** @description Started minus due. */
            lateness: components["schemas"]["Percentiles"];
            /**
             * Format: int32
             * @description Number of nodes that these figures cover.
             */
            nodes: number;
            /** @description Nodes that did not answer in time, whose figures are missing here. Empty: the figures cover all nodes. */
            silent: string[];
            /**
             * Format: date-time
             * @description Start of the figures: the start of the window, or, if later, the start of the first node.
             */
            since: string;
            /** @description From the start to the last byte. */
            took: components["schemas"]["Percentiles"];
        };
        Task: {
            /** @description Poll: what the channel said about the refund, transfer or profit sharing when it was decided; absent: nothing. */
            at_channel?: components["schemas"]["AtChannel"];
            /**
             * Format: int32
             * @description Attempts so far, with any trigger.
             */
            attempts: number;
            /** Format: date-time */
            created: string;
            /** @description Name of the API key that created the task; absent for follow-up tasks and tasks from a broker. */
            created_by?: string;
            /**
             * Format: date-time
             * @description Earliest time of the next attempt; null when it ended.
             */
            due: string | null;
            event: string;
            /**
             * Format: date-time
             * @description null while it is pending.
             */
            finished: string | null;
            /** Format: uuid */
            id: string;
            key: string;
            /** @description Kind of the queue's tasks: notify, order or poll. */
            kind: string;
            /** @description The newest attempt; null before the first. */
            last: components["schemas"]["LastAttempt"] | null;
            /**
             * @description Order: a payment after the order was decided otherwise, as the channel reports it. The decided state stays.
             * @enum {string}
             */
            late_payment?: "PAID" | "PAID_REFUNDED" | (string & {});
            max_age?: string;
            /**
             * Format: int32
             * @description Number of attempts that the schedule allows; null if it has no end, and for an order or poll, which is polled until it is decided.
             */
            max_attempts: number | null;
            merchant_no: string;
            /** @description Empty for an order or poll. */
            method: string;
            order_no: string;
            /**
             * @description Order: its state. UNKNOWN: the channel never decided it, and an alert was sent.
             * @enum {string}
             */
            order_state?: "PENDING" | "PAID" | "PAID_REFUNDED" | "CLOSED" | "REVOKED" | "FAILED" | "UNKNOWN" | (string & {});
            /** @description It is attempted after the earlier tasks of its queue with the same ordering key. */
            ordering_key?: string;
            /** @description Order: the payment that decided it, or came late; absent: none is known. */
            payment?: components["schemas"]["Payment"];
            /**
             * @description Poll: its state. DONE: the money arrived. FAILED_THERE: the channel ended it without success. UNKNOWN: the task was cancelled before.
             * @enum {string}
             */
            poll_state?: "PENDING" | "DONE" | "FAILED_THERE" | "UNKNOWN" | (string & {});
            queue: string;
            /** @description Why it ended: accepted, attempts_used_up, max_age, gave_up, callback, superseded, …; empty while it is pending. */
            reason: string;
            /** @description Poll: the number of the refund, transfer or profit sharing at the channel. */
            ref_no?: string;
            repeat?: string;
            schedule: string;
            /** @enum {string} */
            state: "pending" | "succeeded" | "failed" | "cancelled" | (string & {});
            /**
             * Format: int32
             * @description Attempts that count for the schedule since it began. Manual attempts do not count, and neither does the attempt that ended the task.
             */
            step: number;
            success?: string;
            /** @description It ends waiting tasks of its ordering key instead of waiting for them. */
            supersedes?: boolean;
            timeout?: string;
            /** Format: date-time */
            updated: string;
            url: string;
        };
        TaskDetail: {
            /** @description Poll: what the channel said about the refund, transfer or profit sharing when it was decided; absent: nothing. */
            at_channel?: components["schemas"]["AtChannel"];
            /** @description Ordered by number: the newest 200, or the 200 after attempts_after. */
            attempt_log: components["schemas"]["Attempt"][];
            /**
             * Format: int32
             * @description Attempts so far, with any trigger.
             */
            attempts: number;
            /** Format: date-time */
            created: string;
            /** @description Name of the API key that created the task; absent for follow-up tasks and tasks from a broker. */
            created_by?: string;
            /**
             * Format: date-time
             * @description Earliest time of the next attempt; null when it ended.
             */
            due: string | null;
            event: string;
            /**
             * Format: date-time
             * @description null while it is pending.
             */
            finished: string | null;
            /** Format: uuid */
            id: string;
            key: string;
            /** @description Kind of the queue's tasks: notify, order or poll. */
            kind: string;
            /** @description The newest attempt; null before the first. */
            last: components["schemas"]["LastAttempt"] | null;
            /**
             * @description Order: a payment after the order was decided otherwise, as the channel reports it. The decided state stays.
             * @enum {string}
             */
            late_payment?: "PAID" | "PAID_REFUNDED" | (string & {});
            max_age?: string;
            /**
             * Format: int32
             * @description Number of attempts that the schedule allows; null if it has no end, and for an order or poll, which is polled until it is decided.
             */
            max_attempts: number | null;
            merchant_no: string;
            /** @description Empty for an order or poll. */
            method: string;
            order_no: string;
            /**
             * @description Order: its state. UNKNOWN: the channel never decided it, and an alert was sent.
             * @enum {string}
             */
            order_state?: "PENDING" | "PAID" | "PAID_REFUNDED" | "CLOSED" | "REVOKED" | "FAILED" | "UNKNOWN" | (string & {});
            /** @description It is attempted after the earlier tasks of its queue with the same ordering key. */
            ordering_key?: string;
            /** @description Order: the payment that decided it, or came late; absent: none is known. */
            payment?: components["schemas"]["Payment"];
            /**
             * @description Poll: its state. DONE: the money arrived. FAILED_THERE: the channel ended it without success. UNKNOWN: the task was cancelled before.
             * @enum {string}
             */
            poll_state?: "PENDING" | "DONE" | "FAILED_THERE" | "UNKNOWN" | (string & {});
            queue: string;
            /** @description Why it ended: accepted, attempts_used_up, max_age, gave_up, callback, superseded, …; empty while it is pending. */
            reason: string;
            /** @description Poll: the number of the refund, transfer or profit sharing at the channel. */
            ref_no?: string;
            repeat?: string;
            request: components["schemas"]["Request"];
            schedule: string;
            /** @enum {string} */
            state: "pending" | "succeeded" | "failed" | "cancelled" | (string & {});
            /**
             * Format: int32
             * @description Attempts that count for the schedule since it began. Manual attempts do not count, and neither does the attempt that ended the task.
             */
            step: number;
            success?: string;
            /** @description It ends waiting tasks of its ordering key instead of waiting for them. */
            supersedes?: boolean;
            timeout?: string;
            /** Format: date-time */
            updated: string;
            url: string;
            /**
             * Format: uuid
             * @description The task of the same ordering key that must end first.
             */
            waits_for?: string;
        };
        TaskPage: {
            /** @description Cursor of the next page; empty only at the end. A page with few tasks, or none, may be followed by another. */
            next_cursor: string;
            tasks: components["schemas"]["Task"][];
            /** @description Why the list may be empty by mistake: no queue has the requested name. */
            warning?: string;
        };
        TestMerchant: {
            /** @description A queue of kind notify; optional if there is only one. */
            queue?: string;
            reason?: string;
        };
        Timing: {
            /**
             * Format: double
             * @description TCP connection, to the proxy if there is one.
             */
            connect_ms: number;
            /**
             * Format: double
             * @description DNS lookup.
             */
            dns_ms: number;
            /**
             * Format: double
             * @description From the open connection to the first byte of the answer. Absent: none came, or an older version made the attempt.
             */
            first_byte_ms?: number;
            /**
             * Format: double
             * @description TLS handshake.
             */
            tls_ms: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All is well. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Metrics. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All is well. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "export-accounts": {
        parameters: {
            query?: {
                /** @description Beginning of the account's name in orders. */
                account?: string;
                /** @description Beginning of the name for people, in upper or lower case. */
                name?: string;
                limit?: number;
                /** @description The next_cursor of a page of the same search; default: the first page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountPage"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-accounts": {
        parameters: {
            query?: {
                /** @description Beginning of the account's name in orders. */
                account?: string;
                /** @description Beginning of the name for people, in upper or lower case. */
                name?: string;
                limit?: number;
                /** @description The next_cursor of a page of the same search; default: the first page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountPage"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "put-accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AccountBatch"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountBatched"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-account": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's name in orders, escaped. */
                account: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "put-account": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's name in orders, escaped. */
                account: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutAccount"];
            };
        };
        responses: {
            /** @description It was there already. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            /** @description It is new. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-account": {
        parameters: {
            query?: {
                /** @description Written to the audit record. */
                reason?: string;
            };
            header?: never;
            path: {
                /** @description The account's name in orders, escaped. */
                account: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "rotate-account-secrets": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's name in orders, escaped. */
                account: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotateAccount"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-alarms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alarms"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-attention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attentions"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-audits": {
        parameters: {
            query?: {
                /** @description Every record is examined for this and the following fields, so a page may have few records, or none, and be followed by more. */
                who?: string;
                action?: string;
                target?: string;
                job?: string;
                /** @description Inclusive. */
                created_from?: string;
                /** @description Exclusive. */
                created_to?: string;
                limit?: number;
                /** @description The next_cursor of a page of the same filter; default: the newest. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    backup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Backup"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Backup"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoints"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "pause-endpoint": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A host, a host:port, a queue of kind order, an account such as wechatpay:1900000001, or one full endpoint, escaped (https:%2F%2Fmerchant.example:443). */
                host: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Paused"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "resume-endpoint": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A host, a host:port, a queue of kind order, an account such as wechatpay:1900000001, or one full endpoint, escaped (https:%2F%2Fmerchant.example:443). */
                host: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Paused"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events: {
        parameters: {
            query?: {
                /** @description Only this queue's tasks. */
                queue?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-links": {
        parameters: {
            query?: {
                /** @description Only those of this merchant. */
                merchant_no?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Links"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "make-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MakeLink"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "revoke-link": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The link's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "export-merchants": {
        parameters: {
            query?: {
                /** @description Beginning of the number. */
                merchant_no?: string;
                /** @description Beginning of the name, in upper or lower case. */
                name?: string;
                /** @description true: only paused ones. */
                paused?: boolean;
                /** @description Only merchants in this state. failing: they accept nothing. late: a notification is overdue by more than the alarm overdue allows, among the 1,000 tasks that are overdue the longest. */
                state?: "failing" | "late" | "paused";
                limit?: number;
                /** @description The next_cursor of a page of the same search; default: the first page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MerchantPage"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-merchants": {
        parameters: {
            query?: {
                /** @description Beginning of the number. */
                merchant_no?: string;
                /** @description Beginning of the name, in upper or lower case. */
                name?: string;
                /** @description true: only paused ones. */
                paused?: boolean;
                /** @description Only merchants in this state. failing: they accept nothing. late: a notification is overdue by more than the alarm overdue allows, among the 1,000 tasks that are overdue the longest. */
                state?: "failing" | "late" | "paused";
                limit?: number;
                /** @description The next_cursor of a page of the same search; default: the first page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MerchantPage"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "put-merchants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MerchantBatch"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MerchantBatched"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "reseal-merchants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MerchantReseal"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-merchant": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The merchant's number, escaped. */
                merchant_no: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Merchant"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "put-merchant": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The merchant's number, escaped. */
                merchant_no: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutMerchant"];
            };
        };
        responses: {
            /** @description It was there already. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Merchant"];
                };
            };
            /** @description It is new. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Merchant"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-merchant": {
        parameters: {
            query?: {
                /** @description Written to the audit record. */
                reason?: string;
            };
            header?: never;
            path: {
                /** @description The merchant's number, escaped. */
                merchant_no: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "pause-merchant": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The merchant's number, escaped. */
                merchant_no: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Paused"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "resume-merchant": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The merchant's number, escaped. */
                merchant_no: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Paused"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "rotate-merchant-secret": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The merchant's number, escaped. */
                merchant_no: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotateMerchant"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Merchant"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "merchant-stats": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The merchant's number, escaped. */
                merchant_no: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MerchantStats"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "test-merchant": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The merchant's number, escaped. */
                merchant_no: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TestMerchant"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Nodes"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-notices": {
        parameters: {
            query?: {
                queue?: string;
                merchant_no?: string;
                order_no?: string;
                result?: "applied" | "duplicate" | "held" | "mismatch" | "refused";
                limit?: number;
                /** @description The next_cursor of a page of the same filter; default: the newest. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Notices"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-orders": {
        parameters: {
            query?: {
                queue?: string;
                merchant_no?: string;
                /** @description Every order is examined for this and the following fields, so a page may have few orders, or none, and be followed by more. */
                order_state?: "PENDING" | "PAID" | "PAID_REFUNDED" | "CLOSED" | "REVOKED" | "FAILED" | "UNKNOWN";
                /** @description Channel of the order: wechatpay, alipay, … */
                channel?: string;
                /** @description Name of the registered account that the order has. */
                account?: string;
                /** @description Smallest amount, in the main unit of any currency, such as 88.88. */
                amount_min?: string;
                /** @description Largest amount, in the main unit of any currency, such as 88.88. */
                amount_max?: string;
                /** @description Inclusive. */
                created_from?: string;
                /** @description Exclusive. */
                created_to?: string;
                limit?: number;
                /** @description The next_cursor of a page of the same filter; default: the newest. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrderPage"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "settle-orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SettleOrders"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettledOrders"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-order": {
        parameters: {
            query?: {
                /** @description Attempts overdue tasks now and waits for them, 60s at most, and for steps of the close protocol that become due meanwhile. settled in the answer says whether all were done. Default: only shows the present state. */
                settle?: string;
            };
            header?: never;
            path: {
                /** @description Escape slashes as %2F. */
                merchant_no: string;
                /** @description Escape slashes as %2F. */
                order_no: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "cancel-order": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Escape slashes as %2F. */
                merchant_no: string;
                /** @description Escape slashes as %2F. */
                order_no: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "complete-order": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Escape slashes as %2F. */
                merchant_no: string;
                /** @description Escape slashes as %2F. */
                order_no: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompleteTask"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "decide-order": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Escape slashes as %2F. */
                merchant_no: string;
                /** @description Escape slashes as %2F. */
                order_no: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecideOrder"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "hand-in-notice": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Escape slashes as %2F. */
                merchant_no: string;
                /** @description Escape slashes as %2F. */
                order_no: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HandIn"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HandedIn"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Queues"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-task-by-key": {
        parameters: {
            query?: {
                /** @description Shows up to 200 attempts with numbers above this one; default: the newest 200. */
                attempts_after?: number;
                /** @description Shows only the attempt with this number, with its request; default: all, without their requests. */
                attempt?: number;
                /** @description Shows the request, addresses and answers without masks. Needs the role admin and writes an audit record. */
                reveal?: boolean;
            };
            header?: never;
            path: {
                queue: string;
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDetail"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "cancel-task-by-key": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue: string;
                key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "complete-task-by-key": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue: string;
                key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CompleteTask"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "reschedule-task-by-key": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue: string;
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RescheduleTask"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "resend-task-by-key": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue: string;
                key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResendTask"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "pause-queue": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Paused"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "resume-queue": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Paused"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-reconciliations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reconciliations"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "start-reconciliation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartReconciliation"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reconciliation"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "reconcile-file": {
        parameters: {
            query: {
                /** @description A queue of kind order. */
                queue: string;
                /** @description A registered account; default: that of orders that name none. */
                account?: string;
                /** @description trade, the default, or fund_flow: which bill of the channel the file is. */
                bill?: "trade" | "fund_flow";
                /** @description Day of the bill in UTC+8, such as 2026-11-21. */
                date: string;
                /** @description Which columns the file has: channel_order_no=order,amount=fee,units=main. Default: the file is a bill as the queue's channel makes it. */
                map?: string;
                /** @description Written to the audit record. */
                reason?: string;
                /** @description true: refunds are not compared. */
                no_refunds?: boolean;
                /** @description true: a file that does not say whose bill it is, and of which nothing is known here, is compared. Otherwise it is refused if it has 100 lines or more. */
                unknown?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reconciliation"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-reconciliation": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The reconciliation's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reconciliation"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-differences": {
        parameters: {
            query?: {
                /** @description Only differences of this kind. */
                kind?: "missing_here" | "missing_there" | "amount" | "state" | "refund" | "duplicate";
                limit?: number;
                /** @description The next_cursor of a page; default: the first page. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The reconciliation's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DifferencePage"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "settle-reconciliation": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The reconciliation's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reconciliation"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-resends": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resends"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "start-resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkResend"];
            };
        };
        responses: {
            /** @description With dry_run: what it would touch. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResendCount"];
                };
            };
            /** @description The job, which is durable. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resend"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-resend": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The bulk resend's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resend"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "cancel-resend": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The bulk resend's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resend"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sources"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stats: {
        parameters: {
            query?: {
                /** @description A duration from 1s to 365d, counted in whole minutes with the current one, of the last day at most; since is the actual start. */
                window?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-tasks": {
        parameters: {
            query?: {
                queue?: string;
                state?: "pending" | "succeeded" | "failed" | "cancelled";
                merchant_no?: string;
                order_no?: string;
                key?: string;
                event?: string;
                /** @description Host, or host:port, of the task's URL, in upper or lower case. */
                url_host?: string;
                /** @description Inclusive. */
                created_from?: string;
                /** @description Exclusive. */
                created_to?: string;
                /** @description Every task is examined, so a page may have few tasks, or none, and be followed by more. */
                kind?: "notify" | "order" | "poll";
                /** @description Result of the last attempt; examined as for kind. */
                result?: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown";
                /** @description HTTP status of the last attempt's answer; examined as for kind. */
                status?: number;
                /** @description Ended at this time or later; examined as for kind. */
                finished_from?: string;
                limit?: number;
                /** @description The next_cursor of a page of the same filter; default: the newest. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "create-task": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "queue": "merchant-notify",
                 *       "key": "M1001/20261120000001/paid",
                 *       "merchant_no": "M1001",
                 *       "order_no": "20261120000001",
                 *       "event": "payment.succeeded",
                 *       "url": "https://merchant.example/notify",
                 *       "json": {
                 *         "order_no": "20261120000001",
                 *         "state": "SUCCESS"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["CreateTask"];
            };
        };
        responses: {
            /** @description The key was there already with the same content; nothing was created. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "create-tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Batch"];
            };
        };
        responses: {
            /** @description One result per task, in order. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batched"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-task": {
        parameters: {
            query?: {
                /** @description Shows up to 200 attempts with numbers above this one; default: the newest 200. */
                attempts_after?: number;
                /** @description Shows only the attempt with this number, with its request; default: all, without their requests. */
                attempt?: number;
                /** @description Shows the request, addresses and answers without masks. Needs the role admin and writes an audit record. */
                reveal?: boolean;
            };
            header?: never;
            path: {
                /** @description The task's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDetail"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "cancel-task": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "complete-task": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CompleteTask"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "reschedule-task": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RescheduleTask"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "resend-task": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResendTask"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description A refusal. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}

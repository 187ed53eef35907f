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
         * @description Needs the role read, operate or admin.
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
    "/v1/alarms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alarms that are raised, or ended within a day, and the rules by which they are.
         * @description Needs the role read, operate or admin.
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
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who did what by hand, when and why; newest first.
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role read, operate or admin. Events are named task and attempt; the data of each is an Event. A reader that is too slow misses some, and Last-Event-ID is not supported: what happened before the call is not told. The stream ends when the server shuts down.
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
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role read, operate or admin.
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
         * Seal all secrets under the newest master key, so that older ones can be taken out of the configuration.
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
         * @description Needs the role read, operate or admin.
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
         * Give a merchant a new secret. Both sign for the overlap, and then the new one alone.
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
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role operate or admin.
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
         * @description Needs the role submit, read, operate or admin.
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
         * @description Needs the role operate or admin.
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
         * @description Needs the role operate or admin.
         */
        post: operations["complete-order"];
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
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role submit, read, operate or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
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
         * End a task. An attempt in flight may still arrive.
         * @description Needs the role operate or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
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
         * @description Needs the role operate or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
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
    "/v1/resends": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The newest 50 bulk resends.
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role read, operate or admin.
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
         * @description Needs the role submit, read, operate or admin.
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
         * End a task. An attempt in flight may still arrive.
         * @description Needs the role operate or admin.
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
         * @description Needs the role operate or admin.
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
        Alarm: {
            /** Format: double */
            above: number;
            /** @description Where it is of one; * for those beyond the most that are told one by one. */
            endpoint: string;
            name: string;
            /** @description Empty: all queues. */
            queue: string;
            /** @description Why it ended: over, rule_removed or rule_changed; empty: it is raised. */
            reason: string;
            /** Format: date-time */
            since: string;
            /** @description The queue whose tasks tell. */
            to: string;
            /**
             * Format: date-time
             * @description null: it is raised.
             */
            until: string | null;
            /** @description Why no task tells the latest of it; empty: one does. */
            untold: string;
            /**
             * Format: double
             * @description The figure when it was raised.
             */
            value: number;
            when: string;
        };
        AlarmRule: {
            /**
             * Format: double
             * @description The figure that is still fine: seconds of overdue and store_slow, else a count.
             */
            above: number;
            /** @description How long it must have held. */
            for: string;
            /** @example notify-overdue */
            name: string;
            /** @description Whose tasks are meant; empty: of all queues. */
            queue: string;
            /** @description The queue whose tasks tell. */
            to: string;
            /** @enum {string} */
            when: "overdue" | "endpoint_failing" | "orders_unknown" | "tasks_failed" | "store_slow" | "overloaded" | "node_silent" | (string & {});
        };
        Alarms: {
            /** @description Those that are raised, and then those that ended within a day; the newest first. */
            alarms: components["schemas"]["Alarm"][];
            rules: components["schemas"]["AlarmRule"][];
        };
        Attempt: {
            /** @description What it asked for, where a queue's tasks ask several things: query, close, … */
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
            /** @description How the answer was read, of an order. Of a query: PENDING, NOT_FOUND, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED; QUERY_ERROR: it says nothing of the order, or there is none. Of a close or reverse: closed, already_closed, paid_hint, in_flight, not_exist, unknown; refunded: reversed, and it was paid. */
            reading?: string;
            /** @description The answer, cut at 600 characters. */
            response: string;
            /** @enum {string} */
            result: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown" | (string & {});
            /** Format: date-time */
            started: string;
            /**
             * Format: int32
             * @description HTTP status; 0 if no answer came.
             */
            status: number;
            /** @description Parts of took_ms that went into making a connection; left out where one was there already. */
            timing?: components["schemas"]["Timing"];
            /**
             * Format: int64
             * @description Start to last byte, or to giving up.
             */
            took_ms: number;
            /**
             * @description Why it was made.
             * @enum {string}
             */
            trigger: "schedule" | "manual" | "settle" | "takeover" | (string & {});
        };
        Audit: {
            action: string;
            /** Format: date-time */
            at: string;
            /** @description The fields that the action changed, such as a merchant's. Secrets are shown by their last characters, values in a URL's query by a fingerprint. */
            changes?: components["schemas"]["Changed"][] | null;
            /** @description The network address of who asked: that of trusted_proxies' X-Forwarded-For, if one of these passed it on. Empty: not known, or of before it was kept. */
            from: string;
            /** @description The bulk resend or the batch of merchants that this was a part of, as resend/ID or batch/ID; absent: none. */
            job?: string;
            reason: string;
            /** @description A task's id, or queue/NAME, endpoint/HOST, merchant/NUMBER, resend/ID, link/ID. */
            target: string;
            /** @description The key's name; empty where nobody has to say. */
            who: string;
        };
        AuditPage: {
            audits: components["schemas"]["Audit"][];
            /** @description Where the next page begins; empty at the end. */
            next_cursor: string;
        };
        Backup: {
            /** @description An absolute path on the server, of a directory that does not exist yet. */
            dir: string;
            /** @description Goes into the audit record. */
            reason?: string;
        };
        Batch: {
            /** @description Only say what would become of each; nothing is created. A task that would be is answered with an id of zeros; a key that is in the batch twice is there for the second, with no task. */
            dry_run?: boolean;
            tasks: components["schemas"]["CreateTask"][];
        };
        BatchResult: {
            error?: components["schemas"]["Problem"];
            /**
             * Format: int32
             * @description 201: created. 200: its key was there with the same content. Otherwise see error.
             */
            status: number;
            task?: components["schemas"]["Task"];
        };
        Batched: {
            results: components["schemas"]["BatchResult"][];
        };
        Because: {
            /** @description Goes into the audit record. */
            reason?: string;
        };
        BulkResend: {
            /** @description Only say how many tasks it would touch. */
            dry_run?: boolean;
            /** @description Which tasks; at least one field. */
            filter: components["schemas"]["Filter"];
            /**
             * @description As for one task; default once.
             * @enum {string}
             */
            mode?: "once" | "restart";
            /**
             * @description How fast, in tasks per s, m or h; default 50/s.
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
             * @description What the answer was. Required for an order: PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED.
             * @example PAID
             */
            outcome?: string;
            /** @description Default callback. */
            reason?: string;
        };
        Counts: {
            /** Format: int64 */
            added: number;
            /** @description By result; only results that occurred. */
            attempts: {
                [key: string]: number;
            };
            /** Format: int64 */
            failed: number;
            /** Format: int64 */
            succeeded: number;
        };
        CreateTask: {
            /** @description What is sent, as text: at most 262,144 bytes of UTF-8, however they are escaped in JSON; more is 413. Not together with json. */
            body?: string;
            /**
             * @description Of an order: how long after it was created its payer can pay with the code or page. If the channel knew no such order when it was closed, a late payment is watched for until then; default: the queue's.
             * @example 2h
             */
            code_life?: string;
            /**
             * @description Wait before the schedule begins, at most 3650d; 0s is now, whatever the queue's delay; a schedule whose first item is not 0s adds that before the first attempt.
             * @example 15s
             */
            delay?: string;
            /**
             * Format: date-time
             * @description When the schedule begins; a schedule whose first item is not 0s adds that before the first attempt. Not together with delay; neither means the queue's delay, or now.
             */
            due?: string;
            event?: string;
            /**
             * @description Of an order: when nobody paid so long after it was created, the close protocol begins; default: the queue's.
             * @example 30m
             */
            expires?: string;
            /** @description At most 64, of 8,192 bytes each. */
            headers?: {
                [key: string]: string;
            };
            /** @description What is sent, as any JSON value, byte for byte as given: at most 262,144 bytes; more is 413. Sets Content-Type to application/json unless headers say otherwise. Not together with body. */
            json?: unknown;
            /** @description The caller's own name for the task, unique within its queue, at most 255 bytes. The same key with other content is 409. Default for an order: merchant_no/order_no. */
            key?: string;
            /**
             * @description No attempt is due later than this after the schedule began: then the task ends instead. An attempt that was due in time is made even when it is late, after downtime or a pause, and one asked for by hand is always made.
             * @example 24h
             */
            max_age?: string;
            merchant_no?: string;
            /** @description Default POST. */
            method?: string;
            /** @description Of an order: how the merchant is told how it ended. */
            notify?: components["schemas"]["Notify"];
            /**
             * Format: date-time
             * @description Of an order: when it was created at the channel; expires and code_life count from it, and so does the age before which the channel lets nobody close it. In the latest 31 days by the server's clock, and at most a minute ahead of it. Default: when bellman was told of it.
             */
            order_created?: string;
            order_no?: string;
            /** @description Tasks of one queue that have the same ordering key go out in the order in which they were created, each after the one before has ended. At most 255 bytes. Not together with repeat, and not for an order. */
            ordering_key?: string;
            /** @description The class of tasks whose rules it follows. */
            queue: string;
            /**
             * @description A duration, or cron and an expression: the task begins again after it ended, until it is cancelled. The first round begins as due and delay say, so now if neither is given, with cron too: give due for a first round at its time.
             * @example 10m
             */
            repeat?: string;
            /** @description Where another system left the task: its schedule goes on from there. Not together with due or delay, and not for an order. */
            resume?: components["schemas"]["Resume"];
            /**
             * @description A preset's name or a schedule's text; default: the queue's.
             * @example 0s, 15s*2, 30s
             */
            schedule?: string;
            /**
             * @description A preset's name or an expression; default: the queue's.
             * @example success_text
             */
            success?: string;
            /** @description Ends the earlier tasks of its ordering key that wait, instead of waiting for them: they are cancelled, reason superseded, and cannot be sent again. */
            supersedes?: boolean;
            /**
             * @description Of one attempt; default: the queue's.
             * @example 5s
             */
            timeout?: string;
            /** @description Where the request goes. Required unless the queue has an address of its own. */
            url?: string;
            /** @description Of an order: values for the queue's templates, {vars.NAME}. At most 64, of 4,000 characters each; names of letters, digits and _. */
            vars?: {
                [key: string]: string;
            };
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
        Endpoint: {
            /** @enum {string} */
            breaker: "closed" | "open" | "half_open" | (string & {});
            /** @example https://merchant.example:443 */
            endpoint: string;
            /** Format: int32 */
            in_flight: number;
            /**
             * Format: int32
             * @description Attempts that may be in flight now; adapts.
             */
            limit: number;
            /**
             * Format: date-time
             * @description Due time of the task that waits longest; null: none waits.
             */
            oldest: string | null;
            /** @description null unless paused. */
            paused: components["schemas"]["Pause"] | null;
            /**
             * Format: double
             * @description Attempts a second that it seems to allow, after it asked for fewer; 0: it did not.
             */
            rate: number;
            /**
             * Format: double
             * @description Of its latest attempts, 0 to 1; null before the first.
             */
            success_rate: number | null;
            /** Format: int32 */
            waiting: number;
        };
        Endpoints: {
            endpoints: components["schemas"]["Endpoint"][];
            /**
             * Format: int32
             * @description How many nodes these figures are of.
             */
            nodes: number;
            /** @description Nodes that did not answer in time: what waits there, is in flight or was done lately is not in these figures. Empty: these are all nodes'. */
            silent: string[];
        };
        Event: {
            /** @description The task was just created. */
            added: boolean;
            /** @description What caused the change; only in attempt events. */
            attempt?: components["schemas"]["Attempt"];
            /** @description As it is now; last is the attempt of this event, or null. */
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
            key?: string;
            /** @enum {string} */
            kind?: "notify" | "order";
            merchant_no?: string;
            order_no?: string;
            queue?: string;
            /**
             * @description Of the last attempt.
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
            /** @description Host, or host:port, of the task's URL. */
            url_host?: string;
        };
        Health: {
            /**
             * @description full: the store has no room for new tasks, and those there are go on.
             * @enum {string}
             */
            status: "ok" | "full" | (string & {});
        };
        Intake: {
            /**
             * Format: int64
             * @description Bytes that lived when garbage was collected last.
             */
            heap_bytes: number;
            /**
             * Format: int64
             * @description Of heap_bytes: above it nothing is taken in, until it is an eighth below; 0: no limit.
             */
            heap_high_bytes: number;
            /**
             * Format: int32
             * @description Of waiting: above it nothing is taken in.
             */
            high: number;
            /**
             * Format: int32
             * @description Of waiting: below it tasks are taken in again.
             */
            low: number;
            open: boolean;
            /**
             * Format: int32
             * @description Tasks that are overdue or wait to be committed, but for those set aside; counted no further than it takes to know whether they are above high.
             */
            waiting: number;
        };
        LastAttempt: {
            /** @description What an attempt of an order asked for: query, close or reverse. */
            action?: string;
            error: string;
            /** Format: int32 */
            number: number;
            /** @description How the answer was read, of an order: see reading of an attempt. */
            reading?: string;
            /** @enum {string} */
            result: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown" | (string & {});
            /** Format: date-time */
            started: string;
            /**
             * Format: int32
             * @description HTTP status; 0 if no answer came.
             */
            status: number;
            /**
             * @description Why it was made.
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
            /** @description Its address on this server, for whoever made it: whoever has it sees what it shows. Left out of lists. */
            path?: string;
            reason: string;
            /**
             * Format: date-time
             * @description null: it is not.
             */
            revoked: string | null;
            /** @description The same in full, where the configuration says how merchants reach this server (public_url). */
            url?: string;
            /** @description Why the link may be a mistake, for whoever makes it: no such merchant or order is known. It is made all the same. */
            warning?: string;
            who: string;
        };
        Links: {
            links: components["schemas"]["Link"][];
        };
        MakeLink: {
            /**
             * @description How long it is good, 1h to 30d; default 24h.
             * @example 24h
             */
            life?: string;
            merchant_no: string;
            /** @description Only the notices of this order; left out: all of the merchant's. */
            order_no?: string;
            /** @description Goes into the audit record. */
            reason: string;
        };
        Merchant: {
            /** Format: date-time */
            created: string;
            /** @description None of its newest tasks' newest attempts was accepted, of three attempts or more in the latest day. Left out unless that is so. */
            failing?: boolean;
            merchant_no: string;
            name: string;
            notify_url: string;
            /** @description Left out unless it is paused. */
            paused?: components["schemas"]["Pause"];
            per_endpoint: components["schemas"]["MerchantLimits"];
            /** @description Why nothing can be sent to it now: a master key is missing, or its secrets cannot be opened. */
            problem?: string;
            schedule: string;
            /** @description Left out: as the queue signs. */
            sign?: components["schemas"]["ShownMerchantSign"];
            success: string;
            timeout: string;
            /** Format: date-time */
            updated: string;
            /** @description Another one after each change; a PUT that names it changes what this answer shows, or nothing. */
            version: string;
        };
        MerchantBatch: {
            /** @description Only say what it would do. */
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
            /** @description Empty where it would tell too much of a short one. */
            last_four: string;
            /** @description Id of the master key that it is sealed under. */
            master_key: string;
            /**
             * Format: date-time
             * @description It signs no more from then on; null: it stands.
             */
            until: string | null;
        };
        MerchantLimits: {
            /**
             * Format: int32
             * @description Attempts in flight at most; left out: the queue's.
             */
            concurrency?: number;
            /**
             * @description Attempts per s, m or h at most, from 1/h to 1000000/s; left out: the queue's.
             * @example 50/s
             */
            rate?: string;
        };
        MerchantPage: {
            merchants: components["schemas"]["Merchant"][];
            /** @description Where the next page begins; empty at the end, and only there. */
            next_cursor: string;
        };
        MerchantReseal: {
            /**
             * Format: int32
             * @description Merchants.
             */
            examined: number;
            first_error?: string;
            /**
             * Format: int32
             * @description Of them, with secrets that are under the newest master key now.
             */
            resealed: number;
            /**
             * Format: int32
             * @description Of them, with secrets that cannot be opened; they stay as they are.
             */
            unreadable: number;
        };
        MerchantResult: {
            error?: components["schemas"]["Problem"];
            merchant_no: string;
            /**
             * Format: int32
             * @description 201: created. 200: changed. 204: was so already. Otherwise see error.
             */
            status: number;
        };
        MerchantSign: {
            /** @enum {string} */
            scheme: "standard_webhooks" | "wechat_rsa" | "md5_params" | "hmac_sha256_params" | "jeepay_md5" | "roncoo_md5";
            /** @description The newest first. Written, and never read back: answers have three stars and the last four characters. Left out: those that there are stay. One that is written as an answer shows it (***abcd) stays; sealed:… is one of an export. */
            secrets?: string[] | null;
            /** @description For wechat_rsa alone: the key's serial number. */
            serial?: string;
        };
        MerchantStats: {
            /** Format: int32 */
            cancelled: number;
            /** Format: int32 */
            failed: number;
            /** @description As of the merchant. */
            failing: boolean;
            /** @description The newest ten that failed, or whose newest attempt did. */
            last_failed: components["schemas"]["Task"][];
            merchant_no: string;
            /** @description There are older ones, which are not counted. */
            more: boolean;
            /**
             * Format: date-time
             * @description Due time of the one that waits longest.
             */
            oldest_overdue: string | null;
            /**
             * Format: int32
             * @description Of those that are pending.
             */
            overdue: number;
            /** Format: int32 */
            pending: number;
            /**
             * Format: double
             * @description Of the newest 20 tasks, those that were attempted in the latest day: the share whose newest attempt was accepted, 0 to 1; null: none was attempted.
             */
            recent_success_rate: number | null;
            /** @description Of the newest attempt of each task: how many of each result. */
            results: {
                [key: string]: number;
            };
            /**
             * Format: int32
             * @description Of those that are pending: attempted before.
             */
            retrying: number;
            /**
             * Format: date-time
             * @description When the oldest of them was created.
             */
            since: string | null;
            /** Format: int32 */
            succeeded: number;
            /**
             * Format: double
             * @description Of those that succeeded or failed, 0 to 1; null: none did.
             */
            success_rate: number | null;
            /**
             * Format: int32
             * @description The newest ones that were looked at, 1,000 at most; orders are not among them.
             */
            tasks: number;
        };
        Node: {
            /** @description Where its API answers; may be empty. */
            addr: string;
            /** @description Its shards are its own; those of one that is not are anybody's. */
            alive: boolean;
            /**
             * Format: date-time
             * @description The last one, by the store's clock.
             */
            beat: string;
            /** Format: date-time */
            joined: string;
            /** @description A new one at each start, and after an absence in which its shards went to others. */
            name: string;
            /** @description It is the node that answers. */
            self: boolean;
            shards: components["schemas"]["Shard"][];
            version: string;
        };
        Nodes: {
            nodes: components["schemas"]["Node"][];
            /** @description Shards that no node in the list has: nobody fires their tasks until one takes them. */
            unowned: components["schemas"]["Shard"][];
        };
        Notify: {
            /** @description An object that the notification begins with; order_no, order_state and what the queue takes from the channel's answer are added. */
            json?: unknown;
            /** @description Where the notification goes; default: where the queue that tells sends to. */
            url?: string;
        };
        Order: {
            /** @description Attempts of these tasks in the order in which they started: of each task the newest 200, of all the newest 1,000. */
            attempts: components["schemas"]["OrderAttempt"][];
            /**
             * @description A payment that came after the order was decided otherwise, as the channel says; the decided state stays.
             * @enum {string}
             */
            late_payment?: "PAID" | "PAID_REFUNDED" | (string & {});
            merchant_no: string;
            /** @description There are more tasks or attempts than are shown; each task by itself shows all of its own. */
            more: boolean;
            order_no: string;
            /** @description PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN; empty when none of the tasks is an order. Where several are: paid if one is paid, or else pending if one is pending, or else as the newest. */
            order_state: string;
            /** @description With settle alone. true: all that was overdue, or should have ended, was attempted and that is recorded. false: the wait ended first, and the order may not stand as is shown. */
            settled?: boolean;
            /** @description All tasks with these numbers, of whatever queue, in the order in which they were created: the newest 200. */
            tasks: components["schemas"]["Task"][];
        };
        OrderAttempt: {
            /** @description What it asked for, where a queue's tasks ask several things: query, close, … */
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
            /** @description How the answer was read, of an order. Of a query: PENDING, NOT_FOUND, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED; QUERY_ERROR: it says nothing of the order, or there is none. Of a close or reverse: closed, already_closed, paid_hint, in_flight, not_exist, unknown; refunded: reversed, and it was paid. */
            reading?: string;
            /** @description The answer, cut at 600 characters. */
            response: string;
            /** @enum {string} */
            result: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown" | (string & {});
            /** Format: date-time */
            started: string;
            /**
             * Format: int32
             * @description HTTP status; 0 if no answer came.
             */
            status: number;
            /** Format: uuid */
            task: string;
            /** @description Parts of took_ms that went into making a connection; left out where one was there already. */
            timing?: components["schemas"]["Timing"];
            /**
             * Format: int64
             * @description Start to last byte, or to giving up.
             */
            took_ms: number;
            /**
             * @description Why it was made.
             * @enum {string}
             */
            trigger: "schedule" | "manual" | "settle" | "takeover" | (string & {});
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
            /** @description The queue, or the endpoints of the host; of a resume those alone that were paused. */
            names: string[];
        };
        PerEndpoint: {
            /** Format: int32 */
            concurrency: number;
            /**
             * Format: double
             * @description Attempts a second; 0: no limit.
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
            /** @description What it is about: the task whose key is taken. */
            instance?: string;
            /** Format: int32 */
            status: number;
            title: string;
            /** @description Absent: about:blank, the status says it all. */
            type?: string;
        };
        PutMerchant: {
            merchant_no?: string;
            /** @description For people; found by how it begins. */
            name?: string;
            /**
             * @description Where tasks go that name this merchant and no url, as it stands at each attempt.
             * @example https://merchant.example/notify
             */
            notify_url?: string;
            /** @description What the merchant's endpoint gets at most. Where several merchants share one, the strictest holds. */
            per_endpoint?: components["schemas"]["MerchantLimits"];
            /** @description Goes into the audit record. Of a batch, only the batch's counts. */
            reason?: string;
            /**
             * @description A preset's name or a schedule's text, for tasks that give none. Looked at after each attempt: a change holds for tasks that exist too.
             * @example 0s, 15s*2, 30s
             */
            schedule?: string;
            /** @description How what is sent to the merchant is signed, at each attempt; left out: as the queue says. */
            sign?: components["schemas"]["MerchantSign"];
            /**
             * @description A preset's name or an expression, for tasks that give none. Looked at at each attempt.
             * @example success_text
             */
            success?: string;
            /**
             * @description Of one attempt, 1ms to 10m, for tasks that give none. Looked at at each attempt.
             * @example 5s
             */
            timeout?: string;
            /**
             * @description What an answer gave: if the merchant is of another version by now, 409, and nothing is changed. none: there must be no such merchant yet. Left out: whatever there is.
             * @example b5bb9d8014a0f9b1
             */
            version?: string;
        };
        Queue: {
            /**
             * Format: int32
             * @description Attempts in flight; 0: no limit of its own.
             */
            concurrency: number;
            /** @description Of a task that gives neither delay nor due. Empty: none. */
            delay: string;
            depth: components["schemas"]["Depth"];
            /**
             * Format: int32
             * @description Of those that wait, how many a pause or a breaker that is not closed keeps back. They are not overdue.
             */
            held: number;
            /** Format: int32 */
            in_flight: number;
            kind: string;
            last_minute: components["schemas"]["Counts"];
            /** @description Empty: the schedule decides alone. */
            max_age: string;
            name: string;
            /**
             * Format: date-time
             * @description Due time of the task that waits longest, but for those that are held; null: none is overdue.
             */
            oldest_overdue: string | null;
            /** @description null unless paused. */
            paused: components["schemas"]["Pause"] | null;
            per_endpoint: components["schemas"]["PerEndpoint"];
            /**
             * Format: double
             * @description Attempts a second; 0: no limit of its own.
             */
            rate: number;
            schedule: string;
            success: string;
            timeout: string;
            /**
             * Format: int32
             * @description In memory, due.
             */
            waiting: number;
        };
        Queues: {
            intake: components["schemas"]["Intake"];
            /**
             * Format: int32
             * @description How many nodes these figures are of.
             */
            nodes: number;
            queues: components["schemas"]["Queue"][];
            /** @description Nodes that did not answer in time: what waits there, is in flight or was done lately is not in these figures. Empty: these are all nodes'. */
            silent: string[];
        };
        Request: {
            body: string;
            /** @description Of an order, as it was asked for. */
            code_life?: string;
            /** @description Of an order, as it was asked for. */
            expires?: string;
            /** @description As they are sent, but for secrets: *** stands for the values of Authorization, Proxy-Authorization, Cookie, Set-Cookie and of headers whose names contain token, secret, password, api-key or apikey. */
            headers: {
                [key: string]: string;
            };
            method: string;
            /** @description Of an order, as it was asked for. */
            notify?: components["schemas"]["Notify"];
            /**
             * Format: date-time
             * @description Of an order, as it was given, or when bellman was told of it.
             */
            order_created?: string;
            url: string;
            /** @description Of an order, as they were asked for. */
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
             * @description Tasks that fitted so far: the sum of the next three.
             */
            examined: number;
            /**
             * Format: int64
             * @description Could not be resent.
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
            /** @description There were more than total: what is counted has a bound. */
            more: boolean;
            rate: string;
            reason: string;
            /** Format: int64 */
            resent: number;
            /**
             * Format: int64
             * @description Gone, superseded by a later task of their ordering key, or not what the filter says any more, by the time it was their turn.
             */
            skipped: number;
            /** @enum {string} */
            state: "running" | "done" | "cancelled" | (string & {});
            /**
             * Format: int64
             * @description Tasks that fitted when it was begun; 0: not counted yet.
             */
            total: number;
            /** Format: date-time */
            updated: string;
            who: string;
        };
        ResendCount: {
            /**
             * Format: int32
             * @description Distinct ones among the tasks; no merchant is one too.
             */
            merchants: number;
            /** @description There are more than were counted. */
            more: boolean;
            /** Format: date-time */
            newest: string | null;
            /** Format: date-time */
            oldest: string | null;
            /** Format: int32 */
            tasks: number;
            /** @description The merchants with most tasks, ten at most. */
            top: components["schemas"]["MerchantCount"][];
        };
        ResendTask: {
            /**
             * @description once (the default): one attempt now, the schedule stays where it is. restart: the schedule begins anew, now.
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
             * @description How many attempts it made.
             */
            attempts: number;
            /**
             * Format: date-time
             * @description When the first was due, for a schedule with an age or with offsets; default: last.
             */
            began?: string;
            /**
             * Format: date-time
             * @description When the last of them began.
             */
            last: string;
        };
        RotateMerchant: {
            /**
             * @description How long the secrets that there are go on signing beside it, at most 90d; default 24h. standard_webhooks sends all signatures in one header; the other schemes have room for one, which the newest makes at once.
             * @example 24h
             */
            overlap?: string;
            reason?: string;
            /** @description The new key itself. */
            secret: string;
        };
        SettleOrders: {
            orders: components["schemas"]["OrderRef"][];
            /** @description Goes into the audit record of each order. */
            reason?: string;
            /**
             * @description How long to wait for the channel's answers, at most 60s; default 10s.
             * @example 10s
             */
            wait?: string;
        };
        SettledOrder: {
            /** @description The channel was asked, and what came of it is recorded. */
            asked: boolean;
            error?: components["schemas"]["Problem"];
            /** @description Its newest attempt. */
            last?: components["schemas"]["LastAttempt"];
            /** @enum {string} */
            late_payment?: "PAID" | "PAID_REFUNDED" | (string & {});
            merchant_no: string;
            order_no: string;
            /** @enum {string} */
            order_state?: "PENDING" | "PAID" | "PAID_REFUNDED" | "CLOSED" | "REVOKED" | "FAILED" | "UNKNOWN" | (string & {});
            /**
             * Format: int32
             * @description 200: asked, and this is how it stands now. 202: the answer is still to come, and this is how it stood. 404: bellman knows no such order. Otherwise see error.
             */
            status: number;
            /**
             * Format: uuid
             * @description The order's task.
             */
            task?: string;
        };
        SettledOrders: {
            results: components["schemas"]["SettledOrder"][];
        };
        Shard: {
            /**
             * Format: int64
             * @description Larger for each new owner.
             */
            epoch: number;
            /** Format: int32 */
            shard: number;
        };
        ShownMerchantSign: {
            /** @description The same, with their times. */
            keys: components["schemas"]["MerchantKey"][];
            scheme: string;
            /** @description Those that sign, the newest first: three stars and the last four characters. In an export, sealed:…. */
            secrets: string[];
            serial?: string;
        };
        Source: {
            /**
             * Format: int64
             * @description Messages that can be no task, and are with the dead letters.
             */
            dead: number;
            /**
             * Format: int64
             * @description Messages that were tasks already.
             */
            existing: number;
            /**
             * Format: int64
             * @description Times that the broker could not be reached, or that the connection broke.
             */
            failures: number;
            /**
             * Format: int32
             * @description Messages that were taken, and of which the broker was told nothing yet.
             */
            in_hand: number;
            /** @description The queue of tasks that name none. */
            into: string;
            /** @description What went wrong last; empty: nothing did. */
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
             * @description paused: there is no room, and messages stay with the broker.
             * @enum {string}
             */
            state: "connecting" | "consuming" | "paused" | "stopped" | (string & {});
            /**
             * Format: int64
             * @description Messages that became tasks.
             */
            stored: number;
            /** @description Why it is paused, or what went wrong while it connects. */
            why: string;
        };
        Sources: {
            intake: components["schemas"]["Intake"];
            sources: components["schemas"]["Source"][];
        };
        Stats: {
            counts: components["schemas"]["Counts"];
            /** @description Started minus due. */
            lateness: components["schemas"]["Percentiles"];
            /**
             * Format: int32
             * @description How many nodes these figures are of.
             */
            nodes: number;
            /** @description Nodes that did not answer in time: what waits there, is in flight or was done lately is not in these figures. Empty: these are all nodes'. */
            silent: string[];
            /**
             * Format: date-time
             * @description Where the figures begin: the window, or the start if later, of the first node that started.
             */
            since: string;
            /** @description Start to last byte. */
            took: components["schemas"]["Percentiles"];
        };
        Task: {
            /**
             * Format: int32
             * @description Made so far, of whatever trigger.
             */
            attempts: number;
            /** Format: date-time */
            created: string;
            /** @description The name of the key that created it; absent: none did, as of what follows another task or comes from a broker. */
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
            /** @description What the queue's tasks are: notify or order. */
            kind: string;
            /** @description The newest attempt; null before the first. */
            last: components["schemas"]["LastAttempt"] | null;
            /**
             * @description Of an order: a payment that came after it was decided otherwise, as the channel says; the decided state stays.
             * @enum {string}
             */
            late_payment?: "PAID" | "PAID_REFUNDED" | (string & {});
            max_age?: string;
            /**
             * Format: int32
             * @description What the schedule allows; null when it has no end, and for an order, which is asked about until it is decided.
             */
            max_attempts: number | null;
            merchant_no: string;
            /** @description Empty for an order. */
            method: string;
            order_no: string;
            /**
             * @description Of an order: how it stands. UNKNOWN: the channel never said, and somebody was alerted.
             * @enum {string}
             */
            order_state?: "PENDING" | "PAID" | "PAID_REFUNDED" | "CLOSED" | "REVOKED" | "FAILED" | "UNKNOWN" | (string & {});
            /** @description It goes out after the earlier tasks of its queue that have the same. */
            ordering_key?: string;
            queue: string;
            /** @description Why it ended: accepted, attempts_used_up, max_age, gave_up, callback, superseded, …; empty while it is pending. */
            reason: string;
            repeat?: string;
            schedule: string;
            /** @enum {string} */
            state: "pending" | "succeeded" | "failed" | "cancelled" | (string & {});
            /**
             * Format: int32
             * @description Attempts that count for the schedule since it began. Those made by hand do not count, nor does one whose answer ended the task.
             */
            step: number;
            success?: string;
            /** @description It ends those that wait, instead of waiting for them. */
            supersedes?: boolean;
            timeout?: string;
            /** Format: date-time */
            updated: string;
            url: string;
        };
        TaskDetail: {
            /** @description In order of their numbers: the newest 200, or the 200 after attempts_after. */
            attempt_log: components["schemas"]["Attempt"][];
            /**
             * Format: int32
             * @description Made so far, of whatever trigger.
             */
            attempts: number;
            /** Format: date-time */
            created: string;
            /** @description The name of the key that created it; absent: none did, as of what follows another task or comes from a broker. */
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
            /** @description What the queue's tasks are: notify or order. */
            kind: string;
            /** @description The newest attempt; null before the first. */
            last: components["schemas"]["LastAttempt"] | null;
            /**
             * @description Of an order: a payment that came after it was decided otherwise, as the channel says; the decided state stays.
             * @enum {string}
             */
            late_payment?: "PAID" | "PAID_REFUNDED" | (string & {});
            max_age?: string;
            /**
             * Format: int32
             * @description What the schedule allows; null when it has no end, and for an order, which is asked about until it is decided.
             */
            max_attempts: number | null;
            merchant_no: string;
            /** @description Empty for an order. */
            method: string;
            order_no: string;
            /**
             * @description Of an order: how it stands. UNKNOWN: the channel never said, and somebody was alerted.
             * @enum {string}
             */
            order_state?: "PENDING" | "PAID" | "PAID_REFUNDED" | "CLOSED" | "REVOKED" | "FAILED" | "UNKNOWN" | (string & {});
            /** @description It goes out after the earlier tasks of its queue that have the same. */
            ordering_key?: string;
            queue: string;
            /** @description Why it ended: accepted, attempts_used_up, max_age, gave_up, callback, superseded, …; empty while it is pending. */
            reason: string;
            repeat?: string;
            request: components["schemas"]["Request"];
            schedule: string;
            /** @enum {string} */
            state: "pending" | "succeeded" | "failed" | "cancelled" | (string & {});
            /**
             * Format: int32
             * @description Attempts that count for the schedule since it began. Those made by hand do not count, nor does one whose answer ended the task.
             */
            step: number;
            success?: string;
            /** @description It ends those that wait, instead of waiting for them. */
            supersedes?: boolean;
            timeout?: string;
            /** Format: date-time */
            updated: string;
            url: string;
            /**
             * Format: uuid
             * @description The first task of its ordering key that has to end before it.
             */
            waits_for?: string;
        };
        TaskPage: {
            /** @description Where the next page begins; empty at the end, and only there: a page with few tasks, or none, may have one that follows. */
            next_cursor: string;
            tasks: components["schemas"]["Task"][];
            /** @description Why the list may be empty by mistake: there is no queue of the name that was asked for. */
            warning?: string;
        };
        TestMerchant: {
            /** @description Of kind notify; may be left out where there is one alone. */
            queue?: string;
            reason?: string;
        };
        Timing: {
            /**
             * Format: double
             * @description TCP, or to the proxy.
             */
            connect_ms: number;
            /**
             * Format: double
             * @description Resolving the name.
             */
            dns_ms: number;
            /**
             * Format: double
             * @description Handshake.
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
    "list-audits": {
        parameters: {
            query?: {
                limit?: number;
                /** @description A page's next_cursor; default: the newest. */
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
                /** @description A host, a host:port, a queue of kind order, or one endpoint in full, escaped (https:%2F%2Fmerchant.example:443). */
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
                /** @description A host, a host:port, a queue of kind order, or one endpoint in full, escaped (https:%2F%2Fmerchant.example:443). */
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
                /** @description How the number begins. */
                merchant_no?: string;
                /** @description How the name begins, in upper or lower case. */
                name?: string;
                /** @description true: those alone that are paused. */
                paused?: boolean;
                limit?: number;
                /** @description A page's next_cursor, with the same search; default: the first. */
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
                /** @description How the number begins. */
                merchant_no?: string;
                /** @description How the name begins, in upper or lower case. */
                name?: string;
                /** @description true: those alone that are paused. */
                paused?: boolean;
                limit?: number;
                /** @description A page's next_cursor, with the same search; default: the first. */
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
                /** @description Goes into the audit record. */
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
                /** @description Attempt now what is overdue, and wait for it so long at most, 60s; steps of the close protocol that come due meanwhile are waited for too. The answer's settled says whether all of it was done. Default: show what is known. */
                settle?: string;
            };
            header?: never;
            path: {
                /** @description Slashes in it are escaped (%2F). */
                merchant_no: string;
                /** @description Slashes in it are escaped (%2F). */
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
                /** @description Slashes in it are escaped (%2F). */
                merchant_no: string;
                /** @description Slashes in it are escaped (%2F). */
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
                /** @description Slashes in it are escaped (%2F). */
                merchant_no: string;
                /** @description Slashes in it are escaped (%2F). */
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
                /** @description Show up to 200 attempts with numbers above this one; default: the newest 200. */
                attempts_after?: number;
                /** @description Show the request, addresses and answers without masks. It takes the role admin, and leaves an audit record. */
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
                /** @description A duration from 1s to 365d. Counted in whole minutes, at least the current one, of the latest day: since says from when. */
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
                /** @description Host, or host:port, of the task's URL. */
                url_host?: string;
                /** @description Inclusive. */
                created_from?: string;
                /** @description Exclusive. */
                created_to?: string;
                /** @description Each task is looked at for it: a page may have few, or none, and be followed by more. */
                kind?: "notify" | "order";
                /** @description Of the last attempt; looked at as the kind is. */
                result?: "accepted" | "refused" | "error_status" | "unreachable" | "timeout" | "blocked" | "unknown";
                /** @description HTTP status of the last attempt's answer; looked at as the kind is. */
                status?: number;
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
                /** @description Show up to 200 attempts with numbers above this one; default: the newest 200. */
                attempts_after?: number;
                /** @description Show the request, addresses and answers without masks. It takes the role admin, and leaves an audit record. */
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

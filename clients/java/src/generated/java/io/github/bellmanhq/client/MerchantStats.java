// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantStats, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param cancelled see the API
 * @param failed see the API
 * @param failing As for the merchant.
 * @param lastFailed The ten newest tasks that failed, or whose newest attempt failed.
 * @param merchantNo see the API
 * @param more There are older tasks, which are not counted.
 * @param oldestOverdue Due time of the task that has waited longest.
 * @param overdue Pending tasks.
 * @param pending see the API
 * @param recentSuccessRate Share of accepted newest attempts, 0 to 1, among the newest 20 tasks that were attempted within a day; null: none was attempted.
 * @param results Number of each result among the newest attempts of the tasks.
 * @param retrying Pending tasks that were attempted before.
 * @param since Creation time of the oldest of these tasks.
 * @param succeeded see the API
 * @param successRate Share of success among the attempts that succeeded or failed, 0 to 1; null: none did.
 * @param tasks Number of newest tasks that were examined, at most 1,000, without orders.
 */
public record MerchantStats(
        int cancelled,
        int failed,
        boolean failing,
        List<Task> lastFailed,
        String merchantNo,
        boolean more,
        Instant oldestOverdue,
        int overdue,
        int pending,
        Double recentSuccessRate,
        Map<String, Long> results,
        int retrying,
        Instant since,
        int succeeded,
        Double successRate,
        int tasks) {
    static MerchantStats of(Object json) {
        var r = Shape.Reader.of("MerchantStats", json);
        return new MerchantStats(
                r.int32("cancelled", 0),
                r.int32("failed", 0),
                r.bool("failing", false),
                r.list("last_failed", Task::of),
                r.text("merchant_no"),
                r.bool("more", false),
                r.time("oldest_overdue"),
                r.int32("overdue", 0),
                r.int32("pending", 0),
                r.number("recent_success_rate"),
                r.map("results", Long.class::cast),
                r.int32("retrying", 0),
                r.time("since"),
                r.int32("succeeded", 0),
                r.number("success_rate"),
                r.int32("tasks", 0));
    }
}

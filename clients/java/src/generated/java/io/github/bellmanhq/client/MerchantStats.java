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
 * @param failing As of the merchant.
 * @param lastFailed The newest ten that failed, or whose newest attempt did.
 * @param merchantNo see the API
 * @param more There are older ones, which are not counted.
 * @param oldestOverdue Due time of the one that waits longest.
 * @param overdue Of those that are pending.
 * @param pending see the API
 * @param recentSuccessRate Of the newest 20 tasks, those that were attempted in the latest day: the share whose newest attempt was accepted, 0 to 1; null: none was attempted.
 * @param results Of the newest attempt of each task: how many of each result.
 * @param retrying Of those that are pending: attempted before.
 * @param since When the oldest of them was created.
 * @param succeeded see the API
 * @param successRate Of those that succeeded or failed, 0 to 1; null: none did.
 * @param tasks The newest ones that were looked at, 1,000 at most; orders are not among them.
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

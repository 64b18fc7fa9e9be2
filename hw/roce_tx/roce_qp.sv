// The QP table: contexts written at run time, read by index in the same cycle. Keeps the PSN of every QP.
// A QP that is being written must be idle.
module roce_qp
  import roce_pkg::*;
#(
    parameter int unsigned NumQp = 16,

    localparam int unsigned IndexW = $clog2(NumQp)
) (
    input logic clk,
    input logic rst,

    // Configuration
    input logic [31:0]       local_ip_i,  // stable from the write of a QP on
    input logic              write_i,
    input logic [IndexW-1:0] write_index_i,
    input qp_t               write_qp_i,

    // Look-up by the segmenter: checksum is the sum of the IPv4 header's words except total_length
    input  logic [ 7:0] index_i,
    output qp_t         qp_o,       // not enabled where there is no such QP
    output logic [15:0] checksum_o,

    // The next PSN of a QP, from the segmenter
    input logic        psn_write_i,
    input logic [ 7:0] psn_index_i,
    input logic [23:0] psn_i,

    // Path MTU of any QP
    input  logic [7:0] mtu_index_i,
    output logic [3:0] mtu_log2_o
);

  localparam int unsigned CONTEXT_W = $bits(qp_t) - 1 - 24;  // without `enabled` and `psn`, which are registers

  if (NumQp < 2 || NumQp > 256 || (NumQp & (NumQp - 1)) != 0) begin : gen_check
    $error("%m: NumQp = %0d must be a power of two, 2 to 256", NumQp);
  end

  logic [CONTEXT_W-1:0] contexts[NumQp];
  logic [15:0] checksums[NumQp];
  logic [3:0] mtus[NumQp];
  logic [NumQp-1:0] enabled_q;
  logic [NumQp-1:0][23:0] psn_q;

  logic write_q;
  logic [IndexW-1:0] write_index_q;
  qp_t writing_q;
  logic [15:0] sum_q;

  function automatic logic [15:0] add_ones_complement(input logic [15:0] a, input logic [15:0] b);
    logic [16:0] sum;
    sum = {1'b0, a} + {1'b0, b};
    return sum[15:0] + {15'd0, sum[16]};
  endfunction

  function automatic logic mtu_exists(input logic [3:0] mtu_log2);
    return mtu_log2 >= MTU_LOG2_MIN && mtu_log2 <= MTU_LOG2_MAX;
  endfunction

  // A write takes two cycles: the sum of what is constant in the IPv4 header is done here, not in the path of the packets.
  function automatic logic [15:0] header_sum(input logic [7:0] tos, input logic [7:0] ttl,
                                             input logic [31:0] local_ip, input logic [31:0] dst_ip);
    logic [15:0] sum;
    sum = add_ones_complement({IPV4_VERSION_IHL, tos}, IPV4_DONT_FRAGMENT);
    sum = add_ones_complement(sum, {ttl, IPV4_PROTOCOL_UDP});
    sum = add_ones_complement(sum, local_ip[31:16]);
    sum = add_ones_complement(sum, local_ip[15:0]);
    sum = add_ones_complement(sum, dst_ip[31:16]);
    return add_ones_complement(sum, dst_ip[15:0]);
  endfunction

  always_ff @(posedge clk) begin
    write_q <= write_i;
    write_index_q <= write_index_i;
    writing_q <= write_qp_i;
    sum_q <= header_sum(write_qp_i.tos, write_qp_i.ttl, local_ip_i, write_qp_i.dst_ip);
    if (psn_write_i && exists(psn_index_i)) psn_q[psn_index_i[IndexW-1:0]] <= psn_i;
    if (write_q) begin
      contexts[write_index_q] <= writing_q[CONTEXT_W+23:24];
      checksums[write_index_q] <= sum_q;
      mtus[write_index_q] <= writing_q.mtu_log2;
      enabled_q[write_index_q] <= writing_q.enabled && mtu_exists(writing_q.mtu_log2);
      psn_q[write_index_q] <= writing_q.psn;
    end
    if (rst) begin
      write_q   <= 1'b0;
      enabled_q <= '0;
    end
  end

  function automatic logic exists(input logic [7:0] index);
    return 9'(index) < 9'(NumQp);
  endfunction

  logic [IndexW-1:0] index;
  assign index = index_i[IndexW-1:0];
  assign qp_o = {enabled_q[index] && exists(index_i), contexts[index], psn_q[index]};
  assign checksum_o = checksums[index];
  assign mtu_log2_o = exists(mtu_index_i) ? mtus[mtu_index_i[IndexW-1:0]] : '0;

endmodule

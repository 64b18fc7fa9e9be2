// What time it is, in another clock: where its edges are is measured again every 64 cycles, and between two measurements it goes on by the
// clock's nominal period. It is right to half a cycle of that clock, and what the period is wrong by in 64 cycles; until the first
// measurement, some cycles after power-up, it is anything. It may go back by less than a cycle. Without Cross it is exact.
module time_cross
  import time_pkg::*;
#(
    parameter bit Cross = 1'b1
) (
    // The clock of the time
    input logic clk,
    input logic rst,

    input tai_t        tai_i,
    input logic [31:0] own_period_i,  // of clk, 2^-24 ns
    input logic [31:0] period_i,      // of m_clk, 2^-24 ns
    input logic [31:0] latency_i,     // 2^-16 ns, signed: what comes out is so much earlier

    input  logic m_clk,
    output tai_t tai_o   // at the edge with which the cycle began
);

  // All in 2^-24 ns. From the edge at which tai_i was there to that with which tai_o takes it over: of a measurement two cycles until
  // cdc_word takes it, half a cycle until the other clock has an edge, on average, and three until it is here.
  logic signed [63:0] offset_q, cycles_q;

  if (Cross) begin : gen_cross
    localparam int unsigned EVERY_W = 6;

    logic [EVERY_W-1:0] count_q;
    logic turn_q;
    tai_t sample_q;
    logic m_turn, m_turn_q;
    tai_t m_sample;
    logic [31:0] m_period;
    logic signed [63:0] m_offset;
    logic [87:0] time_q;

    always_ff @(posedge clk) begin
      cycles_q <= 64'({own_period_i, 1'b0}) + 64'({period_i, 1'b0}) + 64'(period_i) + 64'(period_i >> 1);
      offset_q <= cycles_q - {{24{latency_i[31]}}, latency_i, 8'b0};
      count_q <= count_q + 1'b1;
      if (count_q == '0) begin
        sample_q <= tai_i;
        turn_q <= !turn_q;
      end
      if (rst) begin
        count_q <= '0;
        turn_q <= 1'b0;
      end
    end

    cdc_word #(
        .Width(1 + $bits(tai_t))
    ) u_sample (
        .s_clk (clk),
        .word_i({turn_q, sample_q}),
        .m_clk,
        .word_o({m_turn, m_sample})
    );

    cdc_word #(
        .Width(96)
    ) u_rate (
        .s_clk (clk),
        .word_i({period_i, offset_q}),
        .m_clk,
        .word_o({m_period, m_offset})
    );

    always_ff @(posedge m_clk) begin
      m_turn_q <= m_turn;
      if (m_turn != m_turn_q) time_q <= {m_sample, 8'b0} + {{24{m_offset[63]}}, m_offset};
      else time_q <= time_q + 88'(m_period);
    end

    assign tai_o = time_q[87:8];
  end else begin : gen_same
    tai_t tai_q;

    always_ff @(posedge clk) begin
      cycles_q <= 64'(own_period_i);
      offset_q <= cycles_q - {{24{latency_i[31]}}, latency_i, 8'b0};
      tai_q <= tai_i + {{24{offset_q[63]}}, offset_q[63:8]};
    end

    assign tai_o = tai_q;

    logic unused;
    assign unused = ^{rst, m_clk, period_i, offset_q[7:0]};
  end

endmodule

// Holds a message of up to 128 bytes that software writes word by word, and sends it once.
module ptp_send #(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic        write_i,
    input  logic [ 4:0] index_i,
    input  logic [31:0] word_i,
    input  logic        send_i,   // pulse
    input  logic [ 7:0] bytes_i,  // 1 to 128, else nothing is sent; it stays until the message has left

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  localparam int unsigned BYTES = 128;
  localparam int unsigned BEATS = (BYTES + KeepW - 1) / KeepW;
  localparam int unsigned GROUP_W = DataW < 128 ? DataW : 128;
  localparam int unsigned GROUPS = DataW / GROUP_W;
  localparam int unsigned BEAT_W = BEATS > 1 ? $clog2(BEATS) : 1;

  logic [31:0][31:0] words_q;
  logic [BEATS-1:0][DataW-1:0] beats;
  (* keep, dont_merge *)logic [GROUPS-1:0][BEAT_W-1:0] beat_q;  // a copy for some bits each, all equal
  logic [7:0] left_q;  // bytes from this beat on
  logic sends_q;

  always_comb begin
    beats = '0;
    for (int unsigned k = 0; k < 32; k++) beats[32*k/DataW][32*k%DataW+:32] = words_q[k];
    for (int unsigned g = 0; g < GROUPS; g++) m_axis_tdata[g*GROUP_W+:GROUP_W] = beats[beat_q[g]][g*GROUP_W+:GROUP_W];
    for (int unsigned k = 0; k < KeepW; k++) m_axis_tkeep[k] = 8'(k) < left_q;
  end

  assign m_axis_tlast = 32'(left_q) <= KeepW;
  assign m_axis_tvalid = sends_q;

  always_ff @(posedge clk) begin
    if (write_i) words_q[index_i] <= word_i;
    for (int unsigned g = 0; g < GROUPS; g++) begin
      if (!sends_q && beat_q[g] != '0) beat_q[g] <= '0;
      else if (sends_q && m_axis_tready) beat_q[g] <= beat_q[g] + 1'b1;
    end
    if (!sends_q) begin
      left_q <= bytes_i;
      sends_q <= send_i && bytes_i != '0 && bytes_i <= 8'(BYTES);
    end else if (m_axis_tready) begin
      left_q <= left_q - 8'(KeepW);
      sends_q <= !m_axis_tlast;
    end
    if (rst) begin
      beat_q  <= '0;
      sends_q <= 1'b0;
    end
  end

endmodule

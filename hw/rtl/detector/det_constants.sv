// Fetches the constants of the correction for packet after packet, in the order in which the packets come: six planes, plane k at
// base + k * pitch, each with one word a pixel in the order of the modules and of their packets. Layout: jf_constants.pack.
module det_constants
  import axi_pkg::*;
  import jf_pkg::*;
#(
    parameter int unsigned DataW       = 512,
    parameter int unsigned PacketBytes = 8192,
    parameter int unsigned IndexW      = 10,
    parameter int unsigned Depth       = 256,  // beats read ahead
    parameter int unsigned MaxBurst    = 256   // beats of the longest burst
) (
    input logic clk,
    input logic rst,  // only when it is idle

    // Constant from PLANES cycles before the first packet on until it is idle
    input logic [63:0] base_i,  // base and pitch: multiples of 4 KiB
    input logic [31:0] pitch_i,

    // Packets by their numbers, counted over all modules
    input  logic [IndexW-1:0] s_axis_index_tdata,
    input  logic              s_axis_index_tvalid,
    output logic              s_axis_index_tready,

    // As many beats as the packet has; where memory answered with an error, tuser
    output logic [PLANES-1:0][DataW-1:0] m_axis_constant_tdata,
    output logic                         m_axis_constant_tlast,
    output logic                         m_axis_constant_tuser,
    output logic                         m_axis_constant_tvalid,
    input  logic                         m_axis_constant_tready,

    // AXI4 read masters, one a plane
    output axi_read_request_t  [PLANES-1:0]            m_axi_o,
    input  axi_read_response_t [PLANES-1:0]            m_axi_i,
    input  logic               [PLANES-1:0][DataW-1:0] m_axi_rdata,

    output logic idle_o  // the constants of all packets have left
);

  logic [PLANES-1:0][63:0] base_q;
  logic [PLANES-1:0] last, bad, valid, ready, idle;
  logic [PLANES-1:0] waits_q;  // planes whose reader has not taken the offset
  logic [IndexW+31:0] offset_q;
  logic taken;
  (* keep, dont_merge *)logic [PLANES-1:0] rst_q;  // one for each reader, a cycle late; all are always equal

  always_ff @(posedge clk) begin
    for (int unsigned k = 0; k < PLANES; k++) if (rst || rst_q[k]) rst_q[k] <= rst;
  end

  assign s_axis_index_tready = waits_q == '0;
  assign m_axis_constant_tvalid = &valid;
  assign m_axis_constant_tlast = last[0];
  assign m_axis_constant_tuser = |bad;
  assign taken = m_axis_constant_tvalid && m_axis_constant_tready;
  assign idle_o = &idle && waits_q == '0;

  always_ff @(posedge clk) begin
    for (int unsigned k = 0; k < PLANES; k++) base_q[k] <= k == 0 ? base_i : base_q[k-1] + 64'(pitch_i);
    waits_q <= waits_q & ~ready;
    if (s_axis_index_tvalid && s_axis_index_tready) begin
      waits_q  <= '1;
      offset_q <= (IndexW + 32)'(s_axis_index_tdata) * (IndexW + 32)'(PacketBytes);
    end
    if (rst) waits_q <= '0;
  end

  for (genvar k = 0; k < PLANES; k++) begin : gen_plane
    piece_reader #(
        .DataW(DataW),
        .Beats(8 * PacketBytes / DataW),
        .Depth(Depth),
        .MaxBurst(MaxBurst)
    ) u_plane (
        .clk,
        .rst                  (rst_q[k]),
        .s_axis_address_tdata (base_q[k] + 64'(offset_q)),
        .s_axis_address_tvalid(waits_q[k]),
        .s_axis_address_tready(ready[k]),
        .m_axis_tdata         (m_axis_constant_tdata[k]),
        .m_axis_tlast         (last[k]),
        .m_axis_tuser         (bad[k]),
        .m_axis_tvalid        (valid[k]),
        .m_axis_tready        (taken),
        .m_axi_o              (m_axi_o[k]),
        .m_axi_i              (m_axi_i[k]),
        .m_axi_rdata          (m_axi_rdata[k]),
        .idle_o               (idle[k])
    );
  end

  // All planes end together.
  logic unused;
  assign unused = ^last[PLANES-1:1];

endmodule

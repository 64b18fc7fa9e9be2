// Between the core and a PHY's GMII: whole packets from a wider bus to the line, and those of the line that are right to a bus of a byte.
// At the line's rate there are no block RAMs: what is queued is so in the core's clock. Wiring, and one rule for a beat that is lost.
//
//   core -> cdc_axis -> axis_narrow -> gmii_tx -> PHY
//   core <- axis_narrow <- axis_frame_fifo <-.- cdc_axis <- line_widen <- gmii_rx <- PHY
//   core <-----------------------------------'
module gmii_line #(
    parameter int unsigned DataW = 32,   // twice the line's rate or more, at the core's clock
    parameter int unsigned Depth = 512,  // beats of frames that wait for the core

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // To the line: packets of 60 bytes or more, without gaps inside
    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic             s_axis_tuser,   // with tlast: its FCS is to be wrong
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    // From the line as they come, right or wrong, of which none can wait
    output logic [DataW-1:0] m_axis_all_tdata,
    output logic [KeepW-1:0] m_axis_all_tkeep,
    output logic             m_axis_all_tlast,
    output logic             m_axis_all_tuser,   // with tlast: wrong FCS, or cut
    output logic             m_axis_all_tvalid,

    // From the line: those that are right, whole
    output logic [7:0] m_axis_tdata,
    output logic       m_axis_tlast,
    output logic       m_axis_tvalid,
    input  logic       m_axis_tready,

    output logic link_up_o,
    output logic stir_o,     // a bit that turns with the PHY's clock

    input logic tx_clk,  // 125 MHz
    input logic tx_rst,

    output logic [7:0] gmii_txd_o,
    output logic       gmii_tx_en_o,
    output logic       gmii_tx_er_o,

    input logic rx_clk,  // the PHY's, 125 MHz
    input logic rx_rst,

    input logic [7:0] gmii_rxd_i,
    input logic       gmii_rx_dv_i,
    input logic       gmii_rx_er_i
);

  // To the line
  logic [DataW-1:0] out_tdata;
  logic [KeepW-1:0] out_tkeep;
  logic [7:0] line_tdata;
  logic out_tlast, out_tuser, out_cut, out_tvalid, out_tready;
  logic line_tkeep, line_tlast, line_tuser, line_tvalid, line_tready, unused_underrun;

  cdc_axis #(
      .DataW(1 + KeepW + DataW)
  ) u_out (
      .s_clk        (clk),
      .s_rst        (rst),
      .s_axis_tdata ({s_axis_tuser, s_axis_tkeep, s_axis_tdata}),
      .s_axis_tlast,
      .s_axis_tvalid,
      .s_axis_tready,
      .m_clk        (tx_clk),
      .m_rst        (tx_rst),
      .m_axis_tdata ({out_tuser, out_tkeep, out_tdata}),
      .m_axis_tlast (out_tlast),
      .m_axis_tuser (out_cut),
      .m_axis_tvalid(out_tvalid),
      .m_axis_tready(out_tready)
  );

  axis_narrow #(
      .DataW(DataW),
      .OutW (8)
  ) u_out_narrow (
      .clk          (tx_clk),
      .rst          (tx_rst),
      .s_axis_tdata (out_tdata),
      .s_axis_tkeep (out_cut ? KeepW'(1) : out_tkeep),
      .s_axis_tlast (out_tlast),
      .s_axis_tuser (out_tuser || out_cut),
      .s_axis_tvalid(out_tvalid),
      .s_axis_tready(out_tready),
      .m_axis_tdata (line_tdata),
      .m_axis_tkeep (line_tkeep),
      .m_axis_tlast (line_tlast),
      .m_axis_tuser (line_tuser),
      .m_axis_tvalid(line_tvalid),
      .m_axis_tready(line_tready)
  );

  gmii_tx u_tx (
      .clk          (tx_clk),
      .rst          (tx_rst),
      .s_axis_tdata (line_tdata),
      .s_axis_tlast (line_tlast),
      .s_axis_tuser (line_tuser),
      .s_axis_tvalid(line_tvalid),
      .s_axis_tready(line_tready),
      .gmii_txd_o,
      .gmii_tx_en_o,
      .gmii_tx_er_o,
      .underrun_o   (unused_underrun)
  );

  // From the line
  logic [7:0] rx_tdata;
  logic [DataW-1:0] wide_tdata, in_tdata, whole_tdata;
  logic [KeepW-1:0] wide_tkeep, in_tkeep, whole_tkeep;
  logic rx_tlast, rx_tuser, rx_tvalid, wide_tlast, wide_tuser, wide_tvalid, wide_tready;
  logic in_tlast, in_tuser, in_cut, in_tvalid, whole_tlast, whole_tuser, whole_tvalid, whole_tready;
  logic rx_up, stir_q, broken_q, unused_lost, unused_tkeep, unused_tuser;

  gmii_rx u_rx (
      .clk          (rx_clk),
      .rst          (rx_rst),
      .gmii_rxd_i,
      .gmii_rx_dv_i,
      .gmii_rx_er_i,
      .m_axis_tdata (rx_tdata),
      .m_axis_tlast (rx_tlast),
      .m_axis_tuser (rx_tuser),
      .m_axis_tvalid(rx_tvalid)
  );

  line_widen #(
      .InW (8),
      .OutW(DataW)
  ) u_widen (
      .clk          (rx_clk),
      .rst          (rx_rst),
      .s_axis_tdata (rx_tdata),
      .s_axis_tkeep (1'b1),
      .s_axis_tlast (rx_tlast),
      .s_axis_tuser (rx_tuser),
      .s_axis_tvalid(rx_tvalid),
      .m_axis_tdata (wide_tdata),
      .m_axis_tkeep (wide_tkeep),
      .m_axis_tlast (wide_tlast),
      .m_axis_tuser (wide_tuser),
      .m_axis_tvalid(wide_tvalid)
  );

  // A beat that was not taken, as about a reset: all up to the next end that is taken is one frame, a wrong one
  always_ff @(posedge rx_clk) begin
    if (wide_tvalid && !wide_tready) broken_q <= 1'b1;
    else if (wide_tvalid && wide_tlast) broken_q <= 1'b0;
    if (rx_rst) broken_q <= 1'b0;
  end

  cdc_axis #(
      .DataW(1 + KeepW + DataW)
  ) u_in (
      .s_clk        (rx_clk),
      .s_rst        (rx_rst),
      .s_axis_tdata ({wide_tuser || broken_q, wide_tkeep, wide_tdata}),
      .s_axis_tlast (wide_tlast),
      .s_axis_tvalid(wide_tvalid),
      .s_axis_tready(wide_tready),
      .m_clk        (clk),
      .m_rst        (rst),
      .m_axis_tdata ({in_tuser, in_tkeep, in_tdata}),
      .m_axis_tlast (in_tlast),
      .m_axis_tuser (in_cut),
      .m_axis_tvalid(in_tvalid),
      .m_axis_tready(1'b1)
  );

  assign m_axis_all_tdata  = in_tdata;
  assign m_axis_all_tkeep  = in_cut ? KeepW'(1) : in_tkeep;
  assign m_axis_all_tlast  = in_tlast;
  assign m_axis_all_tuser  = in_tuser || in_cut;
  assign m_axis_all_tvalid = in_tvalid;

  axis_frame_fifo #(
      .DataW (DataW),
      .Depth (Depth),
      .Frames(16)
  ) u_whole (
      .clk,
      .rst,
      .s_axis_tdata (in_tdata),
      .s_axis_tkeep (in_tkeep),
      .s_axis_tlast (in_tlast),
      .s_axis_tuser (1'b0),
      .s_axis_tvalid(in_tvalid),
      .drop_i       (m_axis_all_tuser),
      .m_axis_tdata (whole_tdata),
      .m_axis_tkeep (whole_tkeep),
      .m_axis_tlast (whole_tlast),
      .m_axis_tuser (whole_tuser),
      .m_axis_tvalid(whole_tvalid),
      .m_axis_tready(whole_tready),
      .lost_o       (unused_lost)
  );

  axis_narrow #(
      .DataW(DataW),
      .OutW (8)
  ) u_in_narrow (
      .clk,
      .rst,
      .s_axis_tdata (whole_tdata),
      .s_axis_tkeep (whole_tkeep),
      .s_axis_tlast (whole_tlast),
      .s_axis_tuser (whole_tuser),
      .s_axis_tvalid(whole_tvalid),
      .s_axis_tready(whole_tready),
      .m_axis_tdata,
      .m_axis_tkeep (unused_tkeep),
      .m_axis_tlast,
      .m_axis_tuser (unused_tuser),
      .m_axis_tvalid,
      .m_axis_tready
  );

  // The link, and noise: how the PHY's clock runs past the core's
  gmii_link u_link (
      .clk         (rx_clk),
      .rst         (rx_rst),
      .gmii_rxd_i,
      .gmii_rx_dv_i,
      .gmii_rx_er_i,
      .right_i     (rx_tvalid && rx_tlast && !rx_tuser),
      .up_o        (rx_up)
  );

  always_ff @(posedge rx_clk) begin
    stir_q <= !stir_q;
    if (rx_rst) stir_q <= 1'b0;
  end

  cdc_bits #(
      .Width(2)
  ) u_bits (
      .clk,
      .bits_i({stir_q, rx_up}),
      .bits_o({stir_o, link_up_o})
  );

  logic unused;
  assign unused = ^{line_tkeep, unused_underrun, unused_lost, unused_tkeep, unused_tuser};

endmodule
